"""Holds back what TensorFlow's C++ writes when another worker has died, until the reason is known.

TensorFlow logs an all-reduce that fails as an error before this process can ask what it means, and
no level of its log silences that. So while workers train together, file descriptor 2 leads through
a small process, which passes all on at once but such lines and what belongs to them. These it
writes at the end, unless it hears that a message of ours says what has happened. As a process of
its own it passes on the last words of a worker that crashes, too. Python's `sys.stderr` goes past
it. This file is the program of that process as well; it needs the standard library only.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

# How an entry of TensorFlow's log begins, and one from the sources of its all-reduces.
LOG_LINE = re.compile(rb"[IWEF]\d{4} ")
ABORT = re.compile(rb"[IWE]\d{4} .*\b(\w*collective\w*|ring_\w+|\w*coordination\w*)\.cc:\d+\]")
DROP = b"\0drop\n"
# Seconds that the process has to write its last lines.
PATIENCE = 5.0


@contextlib.contextmanager
def aborts_held_back() -> Iterator[Callable[[], None]]:
    """While it is entered, lines about failed all-reduces wait; the function given drops them."""
    sys.stderr.flush()
    python_stderr, original = sys.stderr, os.dup(2)
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-I", __file__],
        stdin=reading,
        stdout=original,
        stderr=subprocess.DEVNULL,
        # Ctrl-C in the terminal is not for it.
        start_new_session=True,
    )
    os.close(reading)
    os.dup2(writing, 2)
    os.close(writing)

    is_entered = True

    def drop() -> None:
        if is_entered:
            os.write(2, DROP)

    with open(original, "w", encoding=python_stderr.encoding, buffering=1) as past_it:
        sys.stderr = past_it
        try:
            yield drop
        finally:
            is_entered = False
            past_it.flush()
            sys.stderr = python_stderr
            sys.stderr.flush()
            os.dup2(original, 2)
            # A child of this process may hold the other end open.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)


def pass_on(source: int, target: int) -> None:
    """The work of the process: from one file descriptor to the other, to the end."""
    held: list[bytes] = []
    is_abort = is_dropping = False
    while chunk := os.read(source, 65536):
        # TensorFlow writes an entry of its log at once. What has no end of line, as a line of
        # progress in a terminal, is passed on like any other.
        for line in chunk.splitlines(keepends=True):
            if line == DROP:
                is_dropping = True
                continue
            if LOG_LINE.match(line):
                is_abort = ABORT.match(line) is not None
            if is_abort:
                held.append(line)
            else:
                _write(target, line)
    for line in () if is_dropping else held:
        _write(target, line)


def _write(target: int, text: bytes) -> None:
    while text:
        text = text[os.write(target, text) :]


if __name__ == "__main__":
    pass_on(0, 1)
