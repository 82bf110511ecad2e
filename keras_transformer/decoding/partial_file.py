"""A file of lines that is written over hours and may be taken up again after a kill.

Lines go to `<name>.partial`; `<name>.partial.json` says what they were made from and how. The final
name appears when every line is there. A restart with the same origin goes on behind the last
whole line; with another origin it begins anew and says what differs.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from keras_transformer.errors import UserError

logger = logging.getLogger(__name__)


class PartialFile:
    """The unfinished file.

    Use as a context manager; leaving it keeps the partial file, `finish` gives it its name.

    Args:
        path: the final name.
        origin: JSON-able: what the lines depend on (hash of the input, checkpoint, settings).
        indented: an output may have several lines, of which all but the first begin with a blank.

    Attributes:
        lines: whole outputs written so far, by this run or by the one before.

    Raises:
        UserError: the file cannot be written, or another process is writing it.
    """

    def __init__(
        self, path: str | os.PathLike[str], origin: Mapping[str, Any], indented: bool = False
    ) -> None:
        self.path = Path(path)
        self._indented = indented
        if self.path.suffix == ".gz":
            raise UserError(f"{path}: the output is written as plain text; take .gz off its name")
        if self.path.exists() and not self.path.is_file():
            raise UserError(
                f"{path} is no regular file, which the output would take the place of: name a file"
            )
        self.partial = self.path.with_name(f"{self.path.name}.partial")
        self.record = self.path.with_name(f"{self.path.name}.partial.json")
        try:
            self._stream = self.partial.open("a+b")
        except OSError as error:
            raise UserError(f"{self.partial} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._stream.close()
            raise UserError(f"{self.partial} is being written by another process") from None
        except OSError as error:  # a network drive without locks
            logger.warning(
                "%s cannot be locked (%s): see to it that no other process writes it",
                self.partial,
                error.strerror,
            )
        self.lines = self._take_up(json.loads(json.dumps(dict(origin))))

    def _take_up(self, origin: dict[str, Any]) -> int:
        """Whole lines that can be kept; everything else is cut off."""
        before = self._origin_before()
        if before == origin:
            count, whole = self._whole_outputs() if self._indented else self._whole_lines()
            self._stream.truncate(whole)
            if count:
                logger.info("%s: going on behind %d lines", self.partial, count)
            return count
        if before is not None:
            changed = sorted(
                key for key in {*before, *origin} if before.get(key) != origin.get(key)
            )
            logger.warning(
                "%s was made with another %s: begun anew", self.partial, ", ".join(changed)
            )
        self._stream.truncate(0)
        temporary = self.record.with_name(f".{self.record.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")
            os.replace(temporary, self.record)
        except OSError as error:
            raise UserError(f"{self.record} cannot be written: {error.strerror}") from None
        finally:
            temporary.unlink(missing_ok=True)
        return 0

    def _origin_before(self) -> dict[str, Any] | None:
        try:
            value = json.loads(self.record.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def _whole_lines(self) -> tuple[int, int]:
        """Number of whole lines, and the bytes they take."""
        self._stream.seek(0)
        count = whole = position = 0
        while block := self._stream.read(1 << 20):
            count += block.count(b"\n")
            if b"\n" in block:
                whole = position + block.rfind(b"\n") + 1
            position += len(block)
        return count, whole

    def _whole_outputs(self) -> tuple[int, int]:
        """Number of outputs before the last, whose end nothing tells, and the bytes they take."""
        self._stream.seek(0)
        count = last = position = 0
        for line in self._stream:
            if not line.startswith(b" "):
                count, last = count + 1, position
            position += len(line)
        return max(count - 1, 0), last

    def write(self, lines: Iterable[str]) -> None:
        """Appends lines, given without line ends, and brings them to the disk."""
        block = [line.encode("utf-8", "replace") + b"\n" for line in lines]
        try:
            self._stream.write(b"".join(block))
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise UserError(f"{self.partial} cannot be written: {error.strerror}") from None
        self.lines += len(block)

    def finish(self, order: Sequence[int] | None = None) -> None:
        """Gives the file its final name.

        Args:
            order: the final place of each output, if they were not written in order.
        """
        if order is None:
            os.replace(self.partial, self.path)
        else:
            self._write_in_order(order)
        self.record.unlink(missing_ok=True)

    def _write_in_order(self, order: Sequence[int]) -> None:
        self._stream.seek(0)
        outputs: list[bytes] = []
        for line in self._stream:
            if self._indented and line.startswith(b" "):
                outputs[-1] += line
            else:
                outputs.append(line)
        if len(outputs) != len(order):
            raise UserError(
                f"{self.partial} holds {len(outputs)} outputs for {len(order)} sentences: take it"
                " away and start again"
            )
        ordered = [b""] * len(outputs)
        for place, output in zip(order, outputs, strict=True):
            ordered[place] = output
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as stream:
                stream.writelines(ordered)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, self.path)
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror}") from None
        finally:
            temporary.unlink(missing_ok=True)
        self.partial.unlink()

    def __enter__(self) -> PartialFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What the disk did not take, as `write` has said, would be tried once more.
        with contextlib.suppress(OSError):
            self._stream.close()
