"""Records of text files: one a line, ended by LF alone.

Read as Tensor2Tensor's reader (TensorFlow's file reader) reads: a record ends at the byte LF and
nowhere else, and every CR is deleted wherever it stands. So CR, U+2028, U+0085, form feed and NUL
never end a record; the number of records is what `wc -l` counts, plus one if the file does not
end in LF. Nothing else is changed: no stripping, no Unicode normalisation, and a byte-order mark
stays. A name that ends in `.gz` is read and written through gzip.
"""

from __future__ import annotations

import gzip
import logging
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Literal

from keras_transformer.errors import UserError

logger = logging.getLogger(__name__)

PathLike = str | os.PathLike[str]

_BLOCK_BYTES = 1 << 20


def read_lines(path: PathLike, errors: Literal["strict", "replace"] = "strict") -> Iterator[str]:
    """Iterates over the records of a UTF-8 text file, without their line ends.

    Args:
      path: the file; through gzip if its name ends in `.gz`.
      errors: "strict" stops at the first byte that is not UTF-8; "replace" reads U+FFFD for it
        and logs one warning with the number of such records at the end.

    Raises:
      UserError: at once if there is no such file; while reading if it cannot be read, is no
        proper gzip file, or (strict) holds bytes that are not UTF-8: the message names file,
        line and byte.
    """
    _require_file(path)
    return _decoded_records(path, errors)


def count_lines(path: PathLike) -> int:
    """Number of records that `read_lines` gives, without decoding them.

    Raises:
      UserError: if the file is missing or cannot be read.
    """
    _require_file(path)
    count = 0
    last = b"\n"
    for block in _blocks(path):
        count += block.count(b"\n")
        last = block[-1:]
    return count + (last != b"\n")


def write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Writes one record a line; the file appears whole under its name or not at all.

    Args:
      path: the file to make or replace; through gzip if its name ends in `.gz`.
      lines: the records, without line ends.

    Raises:
      UserError: if a record would not read back (it holds a CR, an LF or half of a surrogate
        pair), or the file cannot be written.
    """
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.incomplete")
    try:
        with _open(unfinished, "wb", zipped=path.name.endswith(".gz")) as stream:
            for number, line in enumerate(lines, start=1):
                stream.write(_encoded_record(path, number, line))
        os.replace(unfinished, path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _encoded_record(path: Path, number: int, line: str) -> bytes:
    if "\n" in line or "\r" in line:
        raise UserError(
            f"{path}, line {number}: the record {line!r} holds a line end (CR or LF) and would "
            "not read back: one record is one line, take the line end out"
        )
    try:
        return line.encode("utf-8") + b"\n"
    except UnicodeEncodeError as error:
        raise UserError(
            f"{path}, line {number}: the record {line!r} holds "
            f"U+{ord(line[error.start]):04X}, half of a surrogate pair, which UTF-8 cannot "
            "write: take it out"
        ) from error


def _require_file(path: PathLike) -> None:
    if os.path.isdir(path):
        raise UserError(f"{os.fspath(path)} is a directory: a text file is needed")
    if not os.path.exists(path):
        raise UserError(f"{os.fspath(path)}: no such file")


def _open(path: PathLike, mode: Literal["rb", "wb"], zipped: bool) -> IO[bytes]:
    if zipped:
        return gzip.open(path, mode)  # type: ignore[return-value]
    return open(path, mode)


def _decoded_records(path: PathLike, errors: Literal["strict", "replace"]) -> Iterator[str]:
    replaced = 0
    offset = 0
    for number, record in enumerate(_records(path), start=1):
        text = record.rstrip(b"\n").replace(b"\r", b"")
        try:
            yield text.decode("utf-8")
        except UnicodeDecodeError:
            if errors == "strict":
                raise _bad_utf8(path, number, offset, record) from None
            replaced += 1
            yield text.decode("utf-8", errors="replace")
        offset += len(record)
    if replaced:
        logger.warning(
            "%s: %d records hold bytes that are not UTF-8; U+FFFD stands for them",
            os.fspath(path),
            replaced,
        )


def _bad_utf8(path: PathLike, number: int, offset: int, record: bytes) -> UserError:
    try:
        record.decode("utf-8")  # with its CRs, so that the byte's place is that in the file
    except UnicodeDecodeError as error:
        position = error.start
    return UserError(
        f"{os.fspath(path)}, line {number}: the byte 0x{record[position]:02X} at byte "
        f"{position + 1} of the line (offset {offset + position} in the text) is not UTF-8: "
        "convert the file (for instance with iconv -f latin1 -t utf-8), or ask for "
        "replacement"
    )


def _records(path: PathLike) -> Iterator[bytes]:
    """Records with their LF; binary file objects end a line at LF only."""
    with _reading(path), _open(path, "rb", os.fspath(path).endswith(".gz")) as stream:
        yield from stream


def _blocks(path: PathLike) -> Iterator[bytes]:
    with _reading(path), _open(path, "rb", os.fspath(path).endswith(".gz")) as stream:
        while block := stream.read(_BLOCK_BYTES):
            yield block


class _reading:
    """Turns what can go wrong while a file is read into one message with its name."""

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (EOFError, gzip.BadGzipFile, zlib.error)):
            raise UserError(
                f"{self.path} is not a whole gzip file ({error}): fetch or pack it again, or "
                "take .gz off its name if it is plain text"
            ) from error
        if isinstance(error, OSError):
            raise UserError(f"{self.path} cannot be read: {error.strerror or error}") from error
