"""All cores for the work on lines: processes that take tasks from a pipe.

Plain child processes instead of `multiprocessing`: nothing is forked (TensorFlow's threads may be
running already), the caller's script is not imported again (no `if __name__ == "__main__"` is
asked of users), and a worker whose parent was killed sees the end of its pipe and leaves.

Run as a program, this module is such a worker.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from keras_transformer.errors import UserError

A = TypeVar("A")
R = TypeVar("R")

# Starting processes costs about half a second; fewer tasks than this are done at once, here.
_FIRST_TASKS_HERE = 8


def default_count() -> int:
    """Number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ordered_map(
    function: Callable[[A], R], arguments: Iterable[A], num_workers: int
) -> Iterator[R]:
    """`map(function, arguments)` on several processes: same results in the same order.

    At most one task for each worker is in flight, so memory does not grow with the input.

    Args:
        function: a picklable function of this package, or a `functools.partial` of one.
        arguments: picklable arguments, one task each.
        num_workers: processes, never more than there are tasks; below 2 everything runs in this
            process.

    Raises:
        UserError: raised by the function, or a worker was killed.
        RuntimeError: any other exception in a worker, with its traceback.
    """
    stream = iter(arguments)
    yield from map(function, itertools.islice(stream, _FIRST_TASKS_HERE))
    following = list(itertools.islice(stream, max(num_workers, 1)))
    stream = itertools.chain(following, stream)
    payload = _pickled(function) if num_workers > 1 and following else None
    if payload is None:
        yield from map(function, stream)
        return
    pool = [_Worker(payload) for _ in following]
    try:
        busy: list[_Worker] = []
        for worker in itertools.cycle(pool):
            if busy and (busy[0] is worker or len(busy) == len(pool)):
                yield busy.pop(0).result()
            task = list(itertools.islice(stream, 1))
            if not task:
                break
            worker.send(task[0])
            busy.append(worker)
        while busy:
            yield busy.pop(0).result()
    finally:
        for worker in pool:
            worker.close()


def _pickled(function: Callable[..., Any]) -> bytes | None:
    """The function as bytes, or None if another process could not load it (a user's classes)."""
    try:
        payload = pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    try:
        _OursOnly(payload).load()
    except pickle.UnpicklingError:
        return None
    return payload


class _OursOnly(pickle.Unpickler):
    """Loads what consists of this package, numpy and the standard library only."""

    def __init__(self, payload: bytes):
        super().__init__(io.BytesIO(payload))

    def find_class(self, module: str, name: str) -> Any:
        root = module.partition(".")[0]
        if root not in ("keras_transformer", "numpy") and root not in sys.stdlib_module_names:
            raise pickle.UnpicklingError(module)
        return super().find_class(module, name)


class _Worker:
    def __init__(self, payload: bytes):
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p or "." for p in sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "keras_transformer.data.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._write(payload)

    def _write(self, payload: bytes) -> None:
        try:
            self._to.write(len(payload).to_bytes(8, "little") + payload)
            self._to.flush()
        except BrokenPipeError:
            self._died()

    def _died(self) -> None:
        status = self._process.wait()
        raise UserError(
            f"a data worker process ended with status {status}"
            + (" (killed, most likely for want of memory)" if status == -signal.SIGKILL else "")
            + "; try fewer with --num_workers"
        )

    def send(self, argument: Any) -> None:
        self._write(pickle.dumps(argument, protocol=pickle.HIGHEST_PROTOCOL))

    def result(self) -> Any:
        try:
            kind, value = pickle.load(self._from)
        except EOFError:
            self._died()
        if kind == "user error":
            raise UserError(value)
        if kind == "error":
            raise RuntimeError(f"in a data worker:\n{value}")
        return value

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._to.close()
        self._from.close()
        self._process.wait()


def _read_message(stream: Any) -> bytes | None:
    header = stream.read(8)
    if len(header) < 8:
        return None
    length = int.from_bytes(header, "little")
    message = stream.read(length)
    return message if len(message) == length else None


def serve() -> None:
    """The worker's life: a function, then arguments until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends the pipe
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not reach the pipe
    function: Any = None
    while (message := _read_message(sys.stdin.buffer)) is not None:
        content = pickle.loads(message)
        if function is None:
            function = content
            continue
        try:
            answer = ("result", function(content))
        except UserError as error:
            answer = ("user error", str(error))
        except Exception:
            answer = ("error", traceback.format_exc())
        try:
            pickle.dump(answer, results, protocol=pickle.HIGHEST_PROTOCOL)
            results.flush()
        except BrokenPipeError:
            return


if __name__ == "__main__":
    serve()
