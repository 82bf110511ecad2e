"""A worker that dies ends the others.

Without their partner they would wait in an all-reduce, some of them for ever: TensorFlow notices a
closed connection, but only where one was in use, and no machine that lost its power or network.
So every process asks all others every few seconds for a sign of life. When one has gone, the
process gets a moment to come back from TensorFlow with an error; then it is ended from here.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

from keras_transformer.training.cluster import POLL_EVERY, SAY_EVERY, Cluster, Door, answers

# The exit status of a process that lost a partner; the same command on all machines goes on.
LOST_STATUS = 3
# Seconds between two questions to one process.
ASK_EVERY = 3.0
# Seconds without an answer after which a process counts as lost.
LOST_AFTER = 20.0
# Seconds in which this process may come back from TensorFlow before it is ended.
GRACE = 5.0


class WorkerLostError(RuntimeError):
    """Another process of the training has died, or never came up; this one cannot go on."""


class WorkerWatch:
    """Watches the other processes from threads of its own.

    Args:
        cluster: all processes.
        run_dir: named in the message.
        start_timeout: seconds that the others have to come up.

    Attributes:
        on_loss: called when another process was found lost, before any message; maybe repeatedly.
    """

    def __init__(self, cluster: Cluster, run_dir: str | os.PathLike[str], start_timeout: float):
        self._cluster = cluster
        self._run_dir = os.fspath(run_dir)
        self._start_timeout = start_timeout
        self._is_over = threading.Event()
        self._has_lost = threading.Event()
        self._lock = threading.Lock()
        self._reason = ""
        self.on_loss: Callable[[], None] = lambda: None

    def meet(self) -> None:
        """Waits until all processes are up.

        TensorFlow would wait, too, but holds Python's lock meanwhile and nobody could end it.

        Raises:
            WorkerLostError: one has not come up in time.
            UserError: this process's port is taken.
        """
        began = said = time.monotonic()
        missing = set(self._cluster.others)
        with Door(self._cluster):
            while missing := {
                number for number in missing if not answers(self._cluster.addresses[number])
            }:
                now, names = time.monotonic(), ", ".join(map(self._cluster.title, sorted(missing)))
                if now - began > self._start_timeout:
                    waited = f"{self._start_timeout:.0f} seconds"
                    self._reason = f"{names} has not come up within {waited}"
                    raise WorkerLostError(self._message())
                if now - said > SAY_EVERY:
                    said = now
                    print(f"waiting for {names}", file=sys.stderr, flush=True)
                time.sleep(POLL_EVERY)

    @contextlib.contextmanager
    def connecting(self) -> Iterator[None]:
        """While TensorFlow connects; if a process dies in these seconds, at last with a stack."""
        faulthandler.dump_traceback_later(max(self._start_timeout, 60.0), exit=True)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()

    def start(self) -> None:
        """Begins to ask, after all have been connected."""
        for number in self._cluster.others:
            name = f"watch of {self._cluster.names[number]}"
            threading.Thread(target=self._watch, args=[number], name=name, daemon=True).start()

    def stop(self) -> None:
        """Ends the watch; from now on the others may go."""
        self._is_over.set()

    def explain(self, error: Exception) -> Exception:
        """The error to raise for one of TensorFlow's: a lost process if there is one, else itself.

        TensorFlow's own errors name connections, and come from healthy processes, too, once one
        has failed. So the others are asked now, and given the time a machine takes to fall silent.
        """
        until = time.monotonic() + LOST_AFTER + ASK_EVERY
        while not self._has_lost.is_set() and time.monotonic() < until:
            for number in self._cluster.others:
                # Twice, since a full queue may refuse one connection.
                if not answers(self._cluster.addresses[number]) and not answers(
                    self._cluster.addresses[number]
                ):
                    self._lose(f"{self._cluster.title(number)} has ended or was lost")
            self._has_lost.wait(1.0)
        if self._has_lost.is_set():
            return WorkerLostError(self._message())
        return error

    def _watch(self, number: int) -> None:
        address, title = self._cluster.addresses[number], self._cluster.title(number)
        # Counted from the first question without an answer, not from the last answer: this process
        # may have been frozen itself.
        silent_since: float | None = None
        while not self._is_over.wait(ASK_EVERY):
            if answers(address):
                silent_since = None
                continue
            silent_since = silent_since or time.monotonic()
            if time.monotonic() - silent_since > LOST_AFTER:
                self._end(f"{title} has ended or was lost")

    def _lose(self, reason: str) -> None:
        with self._lock:
            self._reason = self._reason or reason
        self.on_loss()
        self._has_lost.set()

    def _end(self, reason: str) -> None:
        self._lose(reason)
        if self._is_over.wait(GRACE):
            return
        with self._lock:  # held to the end: one message
            print(f"kt-trainer: {self._message()}", file=sys.stderr, flush=True)
            # The main thread may hang in TensorFlow, where no exception reaches it. Nothing is
            # lost: files are written under temporary names.
            os._exit(LOST_STATUS)

    def _message(self) -> str:
        return (
            f"{self._cluster.name}: {self._reason}, and training cannot go on without it: see its"
            " own log, and start all workers again; they go on from the last checkpoint in"
            f" {self._run_dir}"
        )
