"""TFRecord files without TensorFlow, so that data generation and its workers stay light.

A record is: its length (8 bytes, little endian), the masked CRC-32C of those 8 bytes (4 bytes),
the data, the masked CRC-32C of the data (4 bytes). Checksums are computed for many records at
once, one byte position of all records at a time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from keras_transformer.errors import UserError

_HEADER_BYTES = 12
_FOOTER_BYTES = 4
_MASK_DELTA = 0xA282EAD8


def _crc_table() -> np.ndarray:
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, (values >> 1) ^ np.uint32(0x82F63B78), values >> 1)
    return values.astype(np.uint32)


_TABLE = _crc_table()


def masked_crc32c(blocks: Sequence[bytes]) -> np.ndarray:
    """Masked CRC-32C of each block, as TFRecord stores it: uint32 `[len(blocks)]`."""
    lengths = np.fromiter(map(len, blocks), dtype=np.int64, count=len(blocks))
    order = np.argsort(-lengths, kind="stable")
    data = np.frombuffer(b"".join(blocks), dtype=np.uint8)
    starts = (np.cumsum(lengths) - lengths)[order]
    # Number of blocks longer than position p, for every p: those still take part there.
    longest = int(lengths.max(initial=0))
    active = len(blocks) - np.searchsorted(np.sort(lengths), np.arange(longest), side="right")
    crc = np.full(len(blocks), 0xFFFFFFFF, dtype=np.uint32)
    for position, count in enumerate(active.tolist()):
        part = crc[:count]
        index = (part ^ data[starts[:count] + position]) & np.uint32(0xFF)
        crc[:count] = _TABLE[index] ^ (part >> np.uint32(8))
    crc = ~crc
    rotated = (crc >> np.uint32(15)) | (crc << np.uint32(17))
    result = np.empty_like(rotated)
    result[order] = rotated + np.uint32(_MASK_DELTA)
    return result


def frame_records(records: Sequence[bytes]) -> list[bytes]:
    """The bytes each record takes in a TFRecord file, length and checksums included."""
    headers = [struct.pack("<Q", len(record)) for record in records]
    header_crcs = masked_crc32c(headers).astype("<u4")
    data_crcs = masked_crc32c(records).astype("<u4")
    return [
        b"".join((header, header_crcs[i].tobytes(), record, data_crcs[i].tobytes()))
        for i, (header, record) in enumerate(zip(headers, records, strict=True))
    ]


def split_frames(data: bytes, path: str) -> list[bytes]:
    """Cuts the bytes of a TFRecord file into framed records.

    Raises:
        UserError: the last record is cut off or a length makes no sense.
    """
    frames: list[bytes] = []
    start = 0
    while start < len(data):
        end = start + _HEADER_BYTES
        if end <= len(data):
            end += struct.unpack_from("<Q", data, start)[0] + _FOOTER_BYTES
        if end > len(data):
            raise UserError(
                f"{path} is cut off or not a TFRecord file (record {len(frames) + 1} at byte"
                f" {start} goes past its end): make or copy it again"
            )
        frames.append(data[start:end])
        start = end
    return frames


def record_of_frame(frame: bytes) -> bytes:
    """The record inside its frame."""
    return frame[_HEADER_BYTES:-_FOOTER_BYTES]


def read_records(path: str, block_bytes: int = 1 << 22) -> Iterator[bytes]:
    """Iterates over the records of a file in order, checking their checksums.

    Raises:
        UserError: the file is cut off, is no TFRecord file, or a checksum is wrong.
    """
    with Path(path).open("rb") as stream:
        rest = b""
        while block := stream.read(block_bytes):
            rest += block
            frames, used = _whole_frames(rest)
            rest = rest[used:]
            yield from _checked_records(frames, path)
        yield from _checked_records(split_frames(rest, path), path)


def _whole_frames(data: bytes) -> tuple[list[bytes], int]:
    frames = []
    start = 0
    while start + _HEADER_BYTES <= len(data):
        length = struct.unpack_from("<Q", data, start)[0]
        end = start + _HEADER_BYTES + length + _FOOTER_BYTES
        if end > len(data):
            break
        frames.append(data[start:end])
        start = end
    return frames, start


def _checked_records(frames: list[bytes], path: str) -> Iterator[bytes]:
    records = [record_of_frame(frame) for frame in frames]
    stored = np.array([struct.unpack("<I", frame[-4:])[0] for frame in frames], dtype=np.uint32)
    if len(records) and (masked_crc32c(records) != stored).any():
        raise UserError(
            f"{path} is damaged or not a TFRecord file: a record's checksum is wrong; make or"
            " copy it again"
        )
    yield from records


def count_records(path: str) -> int:
    """Number of records of a file; only the lengths are read.

    Raises:
        UserError: the file is cut off.
    """
    size = Path(path).stat().st_size
    count = 0
    position = 0
    with Path(path).open("rb") as stream:
        while position < size:
            header = stream.read(_HEADER_BYTES)
            if len(header) == _HEADER_BYTES:
                position += _HEADER_BYTES + struct.unpack_from("<Q", header)[0] + _FOOTER_BYTES
            if len(header) < _HEADER_BYTES or position > size:
                raise UserError(
                    f"{path} is cut off or not a TFRecord file (record {count + 1}): make or"
                    " copy it again"
                )
            stream.seek(position)
            count += 1
    return count
