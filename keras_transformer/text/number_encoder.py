"""Tensor2Tensor's plain `TextEncoder`: text that consists of numbers, which are the ids less 2."""

from __future__ import annotations

from collections.abc import Iterable

from keras_transformer.errors import UserError
from keras_transformer.text.reserved_tokens import NUM_RESERVED_IDS, RESERVED_TOKENS


class NumberTextEncoder:
    """Numbers between white space to ids and back, id = number + 2.

    It has no vocabulary size of its own: the problem that uses it knows its range.
    """

    def encode(self, text: str) -> list[int]:
        """Ids of the numbers of a text, without an end of sentence.

        Raises:
          UserError: for a word that is no integer.
        """
        try:
            return [int(word) + NUM_RESERVED_IDS for word in text.split()]
        except ValueError:
            raise UserError(
                f"{text!r} must consist of integers with white space between them"
            ) from None

    def decode(self, ids: Iterable[int], strip_extraneous: bool = False) -> str:
        """Numbers joined by spaces; ids 0 and 1 read as `<pad>` and `<EOS>`.

        Args:
          ids: any integers.
          strip_extraneous: leave out trailing ids 0 and 1.
        """
        ids = list(ids)
        if strip_extraneous:
            while ids and 0 <= ids[-1] < NUM_RESERVED_IDS:
                ids.pop()
        return " ".join(self.decode_list(ids))

    def decode_list(self, ids: Iterable[int]) -> list[str]:
        """What each id alone stands for."""
        return [
            RESERVED_TOKENS[i] if 0 <= i < NUM_RESERVED_IDS else str(i - NUM_RESERVED_IDS)
            for i in ids
        ]
