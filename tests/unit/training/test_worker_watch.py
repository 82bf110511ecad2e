"""A process whose partner has gone is ended, even if it hangs, and says so once."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from keras_transformer.errors import UserError
from keras_transformer.training import worker_watch
from keras_transformer.training.cluster import Cluster, answers
from keras_transformer.training.worker_watch import LOST_STATUS, WorkerLostError, WorkerWatch

ROOT = Path(__file__).parents[3]
# Watches one other process while the main thread hangs where no exception reaches it.
HANGING = """
import sys, time
from keras_transformer.training import worker_watch
from keras_transformer.training.cluster import Cluster
worker_watch.ASK_EVERY, worker_watch.LOST_AFTER, worker_watch.GRACE = 0.1, 1.0, 0.2
cluster = Cluster(("chief", "worker 0"), ("127.0.0.1:1", sys.argv[1]), 0)
worker_watch.WorkerWatch(cluster, "runs/ende", 60.0).start()
print("watching", flush=True)
time.sleep(60)
"""


class Peer:
    """Stands for the TensorFlow server of another process, until it is closed."""

    def __init__(self):
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(0.05)
        self._is_open = True
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.calls = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while self._is_open:
            try:
                connection, _ = self._server.accept()
            except TimeoutError:
                continue
            with connection:
                connection.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
                self.calls += 1
        self._server.close()

    def close(self):
        self._is_open = False
        self._thread.join()


@pytest.fixture
def peer():
    made = Peer()
    yield made
    made.close()


def hang(address: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", HANGING, address],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_hanging_process_is_ended_when_the_other_dies(peer):
    process = hang(peer.address)
    try:
        until = time.monotonic() + 30
        while peer.calls < 3 and time.monotonic() < until:
            time.sleep(0.05)
        assert process.poll() is None
        peer.close()
        assert process.wait(30) == LOST_STATUS
    finally:
        process.kill()
    assert process.stderr.read() == (
        f"kt-trainer: chief: worker 0 ({peer.address}) has ended or was lost, and training cannot"
        " go on without it: see its own log, and start all workers again; they go on from the last"
        " checkpoint in runs/ende\n"
    )


@pytest.fixture
def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_all_meet(peer, free_port):
    cluster = Cluster(("chief", "worker 0"), (f"127.0.0.1:{free_port}", peer.address), 0)
    WorkerWatch(cluster, "runs/ende", 30.0).meet()
    # The port is free for TensorFlow again.
    socket.create_server(("127.0.0.1", free_port)).close()


def test_who_waits_can_be_seen_by_the_others(free_port):
    here = f"127.0.0.1:{free_port}"
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"127.0.0.1:{server.getsockname()[1]}"
    watch = WorkerWatch(Cluster(("chief", "worker 0"), (here, nobody), 0), "runs/ende", 1.0)
    seen = []
    asking = threading.Timer(0.5, lambda: seen.append(answers(here)))
    asking.start()
    with pytest.raises(WorkerLostError, match=r"worker 0 \(.*\) has not come up within 1 seconds"):
        watch.meet()
    asking.join()
    assert seen == [True]
    assert not answers(here)


def test_a_port_that_is_taken(peer):
    cluster = Cluster(("chief", "worker 0"), (peer.address, "127.0.0.1:1"), 0)
    with pytest.raises(UserError, match="cannot listen at port"):
        WorkerWatch(cluster, "runs/ende", 1.0).meet()


@pytest.fixture
def watch(peer, monkeypatch):
    monkeypatch.setattr(worker_watch, "LOST_AFTER", 0.5)
    monkeypatch.setattr(worker_watch, "ASK_EVERY", 0.1)
    cluster = Cluster(("chief", "worker 0"), ("127.0.0.1:1", peer.address), 0)
    return WorkerWatch(cluster, "runs/ende", 60.0)


def test_an_error_of_our_own_stays_what_it_is(watch):
    error = ValueError("not the network")
    assert watch.explain(error) is error


def test_an_error_behind_which_a_dead_process_stands(watch, peer):
    peer.close()
    explained = watch.explain(ValueError("Connection reset by peer"))
    assert isinstance(explained, WorkerLostError)
    assert f"worker 0 ({peer.address}) has ended or was lost" in str(explained)


def test_after_the_end_the_others_may_go(watch, peer):
    def is_watching():
        return any(thread.name == "watch of worker 0" for thread in threading.enumerate())

    watch.start()
    assert is_watching()
    watch.stop()
    peer.close()
    until = time.monotonic() + 5
    while is_watching():
        assert time.monotonic() < until
        time.sleep(0.01)
