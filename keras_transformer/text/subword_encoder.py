"""Tensor2Tensor's invertible subword encoder: text to ids and back, and its vocabulary file.

A text is cut into tokens, each token is escaped (see `escaping`) and then cut from left to right
into the longest entries of the vocabulary. Equal to `SubwordTextEncoder` of Tensor2Tensor 1.15.7
in every id, string and byte of a file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from keras_transformer.errors import UserError
from keras_transformer.text.escaping import ESCAPE_CHARACTERS, escape_token, unescape_token
from keras_transformer.text.lines import PathLike, read_lines, write_lines
from keras_transformer.text.reserved_tokens import NUM_RESERVED_IDS
from keras_transformer.text.tokenizer import detokenize, token_cutter

# Bounds the memory of the cache to about 50 MB. One hundred characters hold every word that
# comes back often; longer tokens (runs of Chinese, addresses) seldom do.
_CACHED_TOKENS = 1 << 18
_CACHED_TOKEN_CHARACTERS = 100


class SubwordTextEncoder:
    """Text to subword ids and back.

    Entry i of the vocabulary belongs to id i; entries 0 and 1 are `<pad>_` and `<EOS>_`. No id
    is appended at the end of a sentence: that is the caller's. Instances can be pickled.

    Args:
      subtokens: the entries in id order. The empty string and all but the last of equal entries
        keep their ids, which encoding never gives.
    """

    def __init__(self, subtokens: Sequence[str]) -> None:
        self._subtokens = tuple(subtokens)
        self._id_of = {entry: i for i, entry in enumerate(self._subtokens) if entry}
        self._alphabet = frozenset(ESCAPE_CHARACTERS).union(*self._subtokens)
        self._lengths_by_start = _lengths_by_start(self._id_of)
        plain = "".join(sorted(self._alphabet - set("\\_\n")))
        self._find_to_escape = re.compile(f"[^{re.escape(plain)}]").search
        self._ids_by_token = _TokenCache(self)

    @property
    def vocab_size(self) -> int:
        """Number of ids, V."""
        return len(self._subtokens)

    @property
    def subtokens(self) -> tuple[str, ...]:
        """The entries in id order."""
        return self._subtokens

    @property
    def alphabet(self) -> frozenset[str]:
        """Characters that need no escape: those of all entries and those that escapes need."""
        return self._alphabet

    @property
    def id_of_subtoken(self) -> Mapping[str, int]:
        """Id that encoding gives for each entry it can give."""
        return self._id_of

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without an end of sentence.

        Raises:
          UserError: if the vocabulary has a character in its entries that is no entry of its own
            and this text needs it. Vocabularies that were learned here or by Tensor2Tensor have
            none.
        """
        look_up = self._ids_by_token.__getitem__
        return list(chain.from_iterable(map(look_up, token_cutter(text)(text))))

    def encode_without_tokenizing(self, text: str) -> list[int]:
        """Ids of a text taken as one single token, as some of Tensor2Tensor's problems do.

        Only here can the text `<pad>` or `<EOS>` become id 0 or 1.
        """
        return self.encode_token(text)

    def encode_token(self, token: str) -> list[int]:
        """Ids of one token of the tokenizer.

        Raises:
          UserError: as `encode`.
        """
        if self._find_to_escape(token) is None:
            escaped = token + "_"
        else:
            escaped = escape_token(token, self._alphabet)
        id_of = self._id_of
        lengths_by_start = self._lengths_by_start
        end_of_token = len(escaped)
        ids = []
        start = 0
        while start < end_of_token:
            # A length past the end of the token tries all that is left, and ends the loop.
            for length in lengths_by_start.get(escaped[start : start + 3], (2, 1)):
                found = id_of.get(escaped[start : start + length])
                if found is not None:
                    ids.append(found)
                    start += length
                    break
            else:
                raise UserError(missing_character_message(escaped[start], token))
        return ids

    def decode(self, ids: Iterable[int], strip_extraneous: bool = False) -> str:
        """Text of a sequence of ids.

        Nothing is cut at an end of sentence: ids 0 and 1 read as `<pad>` and `<EOS>`. Ids outside
        0 .. V-1 give nothing.

        Args:
          ids: integers of Python or numpy.
          strip_extraneous: leave out trailing ids 0 and 1.
        """
        ids = list(ids)
        if strip_extraneous:
            while ids and 0 <= ids[-1] < NUM_RESERVED_IDS:
                ids.pop()
        subtokens = self._subtokens
        size = len(subtokens)
        escaped = "".join([subtokens[i] for i in ids if 0 <= i < size])
        parts = [part for part in escaped.split("_") if part]
        if "\\" in escaped:
            parts = [unescape_token(part) for part in parts]
        return detokenize(parts)

    def decode_list(self, ids: Iterable[int]) -> list[str]:
        """The entry of each id, the empty string for an id outside 0 .. V-1."""
        size = len(self._subtokens)
        return [self._subtokens[i] if 0 <= i < size else "" for i in ids]

    @classmethod
    def load(cls, path: PathLike) -> SubwordTextEncoder:
        """Reads a vocabulary file of this project or of Tensor2Tensor.

        One entry a line in id order, in single or double quotes or (older files) bare; white
        space after the closing quote or the bare entry is ignored. A bare `'` is the empty
        string.

        Raises:
          UserError: if the file is missing, unreadable, no UTF-8, or empty.
        """
        subtokens = [_unquoted(line.rstrip()) for line in read_lines(path)]
        if not subtokens:
            raise UserError(
                f"the vocabulary file {path} is empty: it needs one subtoken a line, "
                "the first two being '<pad>_' and '<EOS>_'"
            )
        return cls(subtokens)

    def save(self, path: PathLike) -> None:
        """Writes the vocabulary file, whole or not at all: each entry in single quotes.

        Raises:
          UserError: if an entry would not read back since it holds a line end (CR or LF) or half
            of a surrogate pair; the message shows it.
        """
        for number, entry in enumerate(self._subtokens):
            if "\n" in entry or "\r" in entry:
                raise UserError(
                    f"the subtoken {entry!r} (id {number}) holds a line end (CR or LF) and would "
                    f"not read back from {path}: take line ends out of the text it is learned "
                    "from, as reading a file by lines does"
                )
        write_lines(path, map(_quoted, self._subtokens))

    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the bytes that `save` writes."""
        stored = "".join(f"{_quoted(entry)}\n" for entry in self._subtokens)
        return hashlib.sha256(stored.encode("utf-8", errors="surrogatepass")).hexdigest()

    @classmethod
    def learn(
        cls,
        lines: Iterable[str],
        target_size: int,
        max_subtoken_length: int | None = None,
        reserved_tokens: Sequence[str] | None = None,
    ) -> SubwordTextEncoder:
        """Learns a vocabulary from text, as Tensor2Tensor's `build_from_generator` does.

        Args:
          lines: the texts, without line ends.
          target_size: wanted number of entries. The one reached depends on the text: the search
            goes by the minimum count of a subtoken, and all characters of the text are entries.
          max_subtoken_length: Tensor2Tensor's limit, in characters, which allows entries of one
            character less; None for no limit.
          reserved_tokens: `<pad>` and `<EOS>` followed by more entries to keep; None for the two.

        Raises:
          UserError: if there is no text, or an argument is out of its range.
        """
        from keras_transformer.text.vocabulary_builder import count_tokens

        return cls.learn_from_counts(
            count_tokens(lines), target_size, max_subtoken_length, reserved_tokens
        )

    @classmethod
    def learn_from_counts(
        cls,
        counts: Mapping[str, int],
        target_size: int,
        max_subtoken_length: int | None = None,
        reserved_tokens: Sequence[str] | None = None,
        lowest_min_count: int = 1,
        highest_min_count: int = 1000,
    ) -> SubwordTextEncoder:
        """Learns a vocabulary from counted tokens, as Tensor2Tensor's `build_to_target_size`.

        Args:
          counts: how often each token of the tokenizer occurs.
          target_size: as for `learn`, and so are the next two.
          max_subtoken_length: see `learn`.
          reserved_tokens: see `learn`.
          lowest_min_count: lower end of the search for the minimum count of a subtoken.
          highest_min_count: its upper end; `learn` takes Tensor2Tensor's 1 and 1000.

        Raises:
          UserError: as `learn`.
        """
        from keras_transformer.text.vocabulary_builder import VocabularyBuilder

        builder = VocabularyBuilder(counts, max_subtoken_length, reserved_tokens)
        return cls(builder.search(target_size, lowest_min_count, highest_min_count))

    def __getstate__(self) -> dict[str, Any]:
        return {"subtokens": self._subtokens}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["subtokens"])  # type: ignore[misc]


class _TokenCache(dict[str, tuple[int, ...]]):
    """Ids by token; a token that is not there yet is encoded. Emptied when it is full."""

    def __init__(self, encoder: SubwordTextEncoder) -> None:
        super().__init__()
        self._encoder = encoder

    def __missing__(self, token: str) -> tuple[int, ...]:
        ids = tuple(self._encoder.encode_token(token))
        if len(token) <= _CACHED_TOKEN_CHARACTERS:
            if len(self) >= _CACHED_TOKENS:
                self.clear()
            self[token] = ids
        return ids


def _lengths_by_start(entries: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Lengths to try, longest first, for a text that starts with these three characters."""
    lengths: dict[str, set[int]] = {}
    for entry in entries:
        if len(entry) >= 3:
            lengths.setdefault(entry[:3], set()).add(len(entry))
    return {start: (*sorted(found, reverse=True), 2, 1) for start, found in lengths.items()}


def missing_character_message(character: str, token: str) -> str:
    """What to tell a user whose vocabulary cannot express a character of its own alphabet."""
    return (
        f"the vocabulary cannot encode {token!r}: the character {character!r} "
        f"(U+{ord(character):04X}) occurs inside its entries, or is needed for escapes, but is no "
        "entry of its own. Learn the vocabulary anew, add the entry to the file before training, "
        "or take the character out of the text"
    )


def _quoted(entry: str) -> str:
    return f"'{entry}'"


def _unquoted(line: str) -> str:
    if line[:1] in ("'", '"') and line.endswith(line[0]):
        return line[1:-1]
    return line
