"""Splitting of hyphenated compounds in tokenised text, as the paper's BLEU was measured.

T2T's `get_ende_bleu.sh` runs one Perl substitution over hypothesis and reference:
`rich-text` becomes `rich ##AT##-##AT## text`.
"""

from __future__ import annotations

import re

_COMPOUND = re.compile(rb"(\S)-(\S)")


def split_compounds(line: str) -> str:
    """Sets apart every hyphen between two visible signs, in one pass from the left.

    Perl works on the bytes of UTF-8 there, and so does this. The sign after a hyphen is used up:
    `a-b-c` becomes `a ##AT##-##AT## b-c`; but `A-Ü-B` is split at both hyphens, since `Ü` has two
    bytes.
    """
    split = _COMPOUND.sub(rb"\1 ##AT##-##AT## \2", line.encode("utf-8"))
    return split.decode("utf-8")
