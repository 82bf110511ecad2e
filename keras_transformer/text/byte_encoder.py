"""Tensor2Tensor's byte encoder: one id for each UTF-8 byte of a text (`ByteTextEncoder`)."""

from __future__ import annotations

from collections.abc import Iterable

from keras_transformer.text.reserved_tokens import NUM_RESERVED_IDS, RESERVED_TOKENS

_NUM_BYTES = 256


class ByteTextEncoder:
    """Text to ids and back, id = byte + 2. The vocabulary size is 258."""

    @property
    def vocab_size(self) -> int:
        """Number of ids: 256 bytes and the two reserved ones."""
        return NUM_RESERVED_IDS + _NUM_BYTES

    def encode(self, text: str) -> list[int]:
        """Ids of the bytes of a text, without an end of sentence."""
        return [byte + NUM_RESERVED_IDS for byte in text.encode("utf-8")]

    def decode(self, ids: Iterable[int], strip_extraneous: bool = False) -> str:
        """Text of a sequence of ids; U+FFFD stands for bytes that are not UTF-8.

        Ids 0 and 1 read as `<pad>` and `<EOS>`.

        Args:
          ids: each 0 .. 257.
          strip_extraneous: leave out trailing ids 0 and 1.

        Raises:
          ValueError: for an id outside 0 .. 257.
        """
        ids = list(ids)
        if strip_extraneous:
            while ids and 0 <= ids[-1] < NUM_RESERVED_IDS:
                ids.pop()
        return b"".join(map(_bytes_of, ids)).decode("utf-8", errors="replace")

    def decode_list(self, ids: Iterable[int]) -> list[str]:
        """What each id alone stands for, a byte above 127 as the Latin-1 character of its number.

        Raises:
          ValueError: for an id outside 0 .. 257.
        """
        return [_bytes_of(i).decode("latin-1") for i in ids]


def _bytes_of(byte_id: int) -> bytes:
    if 0 <= byte_id < NUM_RESERVED_IDS:
        return RESERVED_TOKENS[byte_id].encode("ascii")
    if not NUM_RESERVED_IDS <= byte_id < NUM_RESERVED_IDS + _NUM_BYTES:
        raise ValueError(f"{byte_id} is no id of the byte encoder: they go from 0 to 257")
    return bytes((byte_id - NUM_RESERVED_IDS,))
