"""Asks other processes for signs of life; from a process of its own, too, where threads cannot.

While TensorFlow connects the workers it holds Python's lock, and may wait for ever for one that
died meanwhile; no thread of Python runs then. So for that time this file is run as a program
beside: it asks the others and, if one stays silent, says so and ends the process that waits. It
needs the standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping

# How an HTTP/2 connection begins, which is what TensorFlow's servers speak: the client's preface
# and an empty frame of settings. The server answers with its own settings (RFC 9113, 3.4).
SETTINGS_FRAME = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS_FRAME
_HEADER = 9
_SETTINGS = 4
# The signal that ends the process watched; its number is the exit status that it leaves.
ENDING = signal.SIGQUIT
# Seconds until a process that has not gone is killed, and until the watching one must have gone.
PATIENCE = 5.0


def answers(address: str, seconds: float = 5.0) -> bool:
    """Whether the TensorFlow server of a process is at work; a frozen process does not answer."""
    host, _, port = address.rpartition(":")
    received = b""
    try:
        with socket.create_connection((host.strip("[]"), int(port)), seconds) as connection:
            connection.sendall(_PREFACE)
            while len(received) < _HEADER and (part := connection.recv(_HEADER)):
                received += part
    except OSError:
        return False
    return len(received) >= _HEADER and received[3] == _SETTINGS


def falls_silent(
    address: str, ask_every: float, lost_after: float, is_over: Callable[[float], bool]
) -> bool:
    """Asks until there is no answer for `lost_after` seconds, then True; False if it is over.

    Args:
        address: host:port.
        ask_every: seconds between two questions.
        lost_after: counted from the first question without an answer, not from the last answer:
            this process may have been frozen itself.
        is_over: waits that long; True if nobody wants to know any more.
    """
    silent_since: float | None = None
    while not is_over(ask_every):
        if answers(address):
            silent_since = None
            continue
        silent_since = silent_since or time.monotonic()
        if time.monotonic() - silent_since > lost_after:
            return True
    return False


@contextlib.contextmanager
def ended_if_silent(
    messages: Mapping[str, str], ask_every: float, lost_after: float
) -> Iterator[None]:
    """While it is entered, silence of another process ends this one, whatever it is doing.

    The exit status is 3, the number of SIGQUIT: as its handler stands C's `_exit`, which is given
    that number and needs no lock of Python's.

    Args:
        messages: address of each other process → the line to write to standard error.
        ask_every: seconds between two questions to one process.
        lost_after: seconds without an answer.
    """
    c_library = ctypes.CDLL(None)
    c_library.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    c_library.signal.restype = ctypes.c_void_p
    handler = ctypes.cast(c_library._exit, ctypes.c_void_p)
    before = c_library.signal(ENDING, handler)
    process = subprocess.Popen(
        [sys.executable, "-I", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        # Ctrl-C in the terminal is not for it.
        start_new_session=True,
    )
    assert process.stdin is not None
    try:
        task = [os.getpid(), dict(messages), ask_every, lost_after]
        with contextlib.suppress(OSError):  # it could not start: nobody watches
            process.stdin.write(json.dumps(task).encode() + b"\n")
            process.stdin.flush()
        yield
    finally:
        # The end of the pipe ends it. Waited for, so that it cannot speak up later.
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        c_library.signal(ENDING, before)


def watch() -> None:
    """The work of the program: until its input ends, with the process that started it."""
    line = sys.stdin.buffer.readline()
    if not line:
        return
    parent, messages, ask_every, lost_after = json.loads(line)
    lock = threading.Lock()

    def ask(address: str, message: str) -> None:
        if not falls_silent(address, ask_every, lost_after, _input_ends_within):
            return
        with lock:  # held to the end: one message
            if _has_ended(parent):
                return
            with contextlib.suppress(OSError):  # nobody may read it any more
                print(message, file=sys.stderr, flush=True)
            with contextlib.suppress(ProcessLookupError):
                os.kill(parent, ENDING)
                if not _has_ended(parent, within=PATIENCE):
                    os.kill(parent, signal.SIGKILL)
            os._exit(0)

    for address, message in messages.items():
        threading.Thread(target=ask, args=[address, message], daemon=True).start()
    while not _has_ended(parent, within=1.0):
        pass
    with lock:
        os._exit(0)


def _has_ended(parent: int, within: float = 0.0) -> bool:
    """Whether the process that started this one has gone, or needs no watch any more.

    Its number is compared, too: a child of it may hold the other end of the pipe.
    """
    return _input_ends_within(within) or os.getppid() != parent


def _input_ends_within(seconds: float) -> bool:
    return bool(select.select([0], [], [], seconds)[0])


if __name__ == "__main__":
    watch()
