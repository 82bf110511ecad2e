"""Tensor2Tensor's token encoder: one id for each word between white space (`TokenTextEncoder`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keras_transformer.errors import UserError
from keras_transformer.text.lines import PathLike, read_lines, write_lines
from keras_transformer.text.reserved_tokens import RESERVED_TOKENS


class TokenTextEncoder:
    """Text to ids by words, for text that is split already (BPE, tags, symbols).

    Args:
      tokens: all entries in id order, the reserved ones included; of equal entries the last one
        counts for encoding. See `load` and `from_list`.
      replace_oov: entry that stands for every word that is no entry; None makes such a word an
        error.
      reverse: give and take the ids from the last word to the first.
      source: what the entries came from, named in messages.

    Raises:
      UserError: if `replace_oov` is no entry.
    """

    def __init__(
        self,
        tokens: Sequence[str],
        replace_oov: str | None = None,
        reverse: bool = False,
        source: str = "the token vocabulary",
    ) -> None:
        self._tokens = tuple(tokens)
        self._id_of = {token: i for i, token in enumerate(self._tokens)}
        self._reverse = reverse
        self._source = source
        self._replacement_id: int | None = None
        if replace_oov is not None:
            if replace_oov not in self._id_of:
                raise UserError(
                    f"replace_oov is {replace_oov!r}, which is not in {source}: add it there as a "
                    "line, or name an entry"
                )
            self._replacement_id = self._id_of[replace_oov]

    @classmethod
    def load(
        cls, path: PathLike, replace_oov: str | None = None, reverse: bool = False
    ) -> TokenTextEncoder:
        """Reads one entry a line; `<pad>` and `<EOS>` must stand in the file, first.

        White space around an entry is ignored.

        Raises:
          UserError: if the file is missing, unreadable, not UTF-8 or does not start with the two
            reserved entries, or if `replace_oov` is not in it.
        """
        tokens = [line.strip() for line in read_lines(path)]
        if tuple(tokens[: len(RESERVED_TOKENS)]) != RESERVED_TOKENS:
            raise UserError(
                f"{path} starts with {tokens[: len(RESERVED_TOKENS)]}: the first two lines of a "
                f"token vocabulary must be {' and '.join(RESERVED_TOKENS)}"
            )
        return cls(tokens, replace_oov, reverse, source=str(path))

    @classmethod
    def from_list(
        cls, tokens: Iterable[str], replace_oov: str | None = None, reverse: bool = False
    ) -> TokenTextEncoder:
        """Takes entries without the reserved ones, which are put in front.

        Raises:
          UserError: if `replace_oov` is no entry.
        """
        others = (token for token in tokens if token not in RESERVED_TOKENS)
        return cls((*RESERVED_TOKENS, *others), replace_oov, reverse)

    def save(self, path: PathLike) -> None:
        """Writes the vocabulary file, whole or not at all: one entry a line, reserved ones too.

        Raises:
          UserError: if an entry would not read back, since it holds white space at an end or a
            line end; the message shows it.
        """
        for token in self._tokens:
            if token != token.strip():
                raise UserError(
                    f"the entry {token!r} starts or ends with white space and would not read back "
                    f"from {path}: take the white space off"
                )
        write_lines(path, self._tokens)

    @property
    def vocab_size(self) -> int:
        """Number of ids, V, reserved ones included."""
        return len(self._tokens)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The entries in id order."""
        return self._tokens

    @property
    def replacement_id(self) -> int | None:
        """The id of every word that is no entry; None where such a word is an error."""
        return self._replacement_id

    @property
    def reverse(self) -> bool:
        """Whether ids go from the last word to the first."""
        return self._reverse

    def encode(self, text: str) -> list[int]:
        """Ids of the words of a text, without an end of sentence.

        Raises:
          UserError: for a word that is no entry, if no replacement was named.
        """
        ids = []
        for token in text.split():
            found = self._id_of.get(token, self._replacement_id)
            if found is None:
                raise UserError(
                    f"{token!r} is not in {self._source}: name a replacement for unknown words "
                    "(replace_oov), or split the text as the vocabulary wants it"
                )
            ids.append(found)
        return ids[::-1] if self._reverse else ids

    def decode(self, ids: Iterable[int], strip_extraneous: bool = False) -> str:
        """Entries joined by spaces; an id outside 0 .. V-1 reads as `ID_n`.

        Args:
          ids: any integers.
          strip_extraneous: without effect, as in Tensor2Tensor.
        """
        return " ".join(self.decode_list(ids))

    def decode_list(self, ids: Iterable[int]) -> list[str]:
        """The entry of each id, `ID_n` for an id n outside 0 .. V-1."""
        size = len(self._tokens)
        entries = [self._tokens[i] if 0 <= i < size else f"ID_{i}" for i in ids]
        return entries[::-1] if self._reverse else entries
