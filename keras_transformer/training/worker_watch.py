"""A worker that dies ends the others.

Without their partner they would wait in an all-reduce, some of them for ever: TensorFlow notices a
closed connection, but only where one was in use, and no machine that lost its power or network.
So every process asks all others every few seconds for a sign of life. When one has gone, the
process gets a moment to come back from TensorFlow with an error; then it is ended from here. While
TensorFlow connects them, a program beside does both (`signs_of_life.py`).
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

from keras_transformer.training.cluster import SAY_EVERY, Cluster, Door
from keras_transformer.training.signs_of_life import answers, ended_if_silent, falls_silent

# The exit status of a process that lost a partner; the same command on all machines goes on.
LOST_STATUS = 3
# Seconds between two looks for the others when all are to meet, and for which who has seen all of
# them stays to be seen: if it died right afterwards, the others would take it for one yet to come.
MEET_EVERY = 0.25
MEETING = 1.0
# Seconds between two questions to one process.
ASK_EVERY = 3.0
# Seconds without an answer after which a process counts as lost.
LOST_AFTER = 20.0
# The same while TensorFlow connects: in between nobody answers at a worker's port, from when it has
# met the others until its GPUs are set up and TensorFlow's server has started.
LOST_AFTER_MEETING = 40.0
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
                    raise WorkerLostError(self._message(f"{names} has not come up within {waited}"))
                if now - said > SAY_EVERY:
                    said = now
                    print(f"waiting for {names}", file=sys.stderr, flush=True)
                time.sleep(MEET_EVERY)
            time.sleep(MEETING)

    @contextlib.contextmanager
    def connecting(self) -> Iterator[None]:
        """While TensorFlow connects: if another process dies in these seconds, this one is ended
        as `start` would do it; if all are alive but do not come together, at last with a stack.
        """
        faulthandler.dump_traceback_later(max(self._start_timeout, 60.0), exit=True)
        cluster = self._cluster
        messages = {
            cluster.addresses[number]: self._last_words(self._lost(number))
            for number in cluster.others
        }
        try:
            with ended_if_silent(messages, ASK_EVERY, LOST_AFTER_MEETING):
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
                    self._lose(self._lost(number))
            self._has_lost.wait(1.0)
        if self._has_lost.is_set():
            return WorkerLostError(self._message(self._reason))
        return error

    def _watch(self, number: int) -> None:
        address = self._cluster.addresses[number]
        if falls_silent(address, ASK_EVERY, LOST_AFTER, self._is_over.wait):
            self._end(self._lost(number))

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
            print(self._last_words(self._reason), file=sys.stderr, flush=True)
            # The main thread may hang in TensorFlow, where no exception reaches it. Nothing is
            # lost: files are written under temporary names.
            os._exit(LOST_STATUS)

    def _lost(self, number: int) -> str:
        return f"{self._cluster.title(number)} has ended or was lost"

    def _last_words(self, reason: str) -> str:
        return f"kt-trainer: {self._message(reason)}"

    def _message(self, reason: str) -> str:
        return (
            f"{self._cluster.name}: {reason}, and training cannot go on without it: see its"
            " own log, and start all workers again; they go on from the last checkpoint in"
            f" {self._run_dir}"
        )
