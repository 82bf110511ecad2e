"""Two text files whose lines belong together.

Records end at LF alone and every CR is deleted (`text/lines.py`); white space in Unicode's sense is
stripped from both ends of each line, as T2T does. In WMT's SGM files only `<seg>` lines are text.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from keras_transformer.errors import UserError
from keras_transformer.text.lines import count_lines, read_lines

logger = logging.getLogger(__name__)

_SGM_MARKUP = ("<srcset", "</srcset", "<refset", "</refset", "<doc", "</doc", "<p>", "</p>")


def require_same_length(source_path: str, target_path: str) -> int:
    """The common number of lines of two files.

    Raises:
        UserError: they differ (both numbers are named), are empty, or cannot be read.
    """
    counts = count_lines(source_path), count_lines(target_path)
    if counts[0] != counts[1]:
        raise UserError(
            f"{source_path} has {counts[0]} lines, {target_path} has {counts[1]}: line n of one"
            " must be the translation of line n of the other"
        )
    if not counts[0]:
        raise UserError(f"{source_path} and {target_path} are empty")
    return counts[0]


def read_pairs(
    source_path: str, target_path: str, errors: Literal["strict", "replace"] = "strict"
) -> Iterator[tuple[str, str]]:
    """Stripped pairs of lines, blank ones included.

    When one file is longer its tail is left out, as T2T does, with a warning.

    Args:
        source_path, target_path: the files.
        errors: "replace" reads U+FFFD for bytes that are not UTF-8 and logs their number.

    Raises:
        UserError: a file is missing, unreadable or not UTF-8 (file, line and byte are named).
    """
    both_sgm = _is_sgm(source_path) and _is_sgm(target_path)
    sources, targets = read_lines(source_path, errors), read_lines(target_path, errors)
    pairs = 0
    for source in sources:
        target = next(targets, None)
        if target is None:
            _warn_of_tail(source_path, target_path, pairs)
            return
        pairs += 1
        if not both_sgm:
            yield source.strip(), target.strip()
            continue
        segments = _sgm_segment(source), _sgm_segment(target)
        if segments[0] is not None and segments[1] is not None:
            yield segments[0], segments[1]
    if next(targets, None) is not None:
        _warn_of_tail(target_path, source_path, pairs)


def _warn_of_tail(longer: str, shorter: str, pairs: int) -> None:
    logger.warning(
        "%s has more lines than %s: only the first %d pairs are used", longer, shorter, pairs
    )


def _is_sgm(path: str) -> bool:
    return path.removesuffix(".gz").endswith("sgm")


def _sgm_segment(line: str) -> str | None:
    """Text of a `<seg>` line; None for markup. Entities such as `&amp;` stay (T2T)."""
    line = line.strip()
    if line.startswith(_SGM_MARKUP):
        return None
    if line.startswith("<seg") and line.endswith("</seg>"):
        return line[line.index(">") + 1 : -len("</seg>")].strip()
    return None


def size_and_crc(path: str) -> dict[str, int]:
    """Bytes and CRC-32 of a file, by which data made from it is known again."""
    crc = size = 0
    with Path(path).open("rb") as stream:
        while block := stream.read(1 << 22):
            crc = zlib.crc32(block, crc)
            size += len(block)
    return {"bytes": size, "crc32": crc}
