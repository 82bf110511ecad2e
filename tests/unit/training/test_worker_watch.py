"""A process whose partner has gone is ended, even if it hangs, and says so once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from keras_transformer.errors import UserError
from keras_transformer.training import worker_watch
from keras_transformer.training.cluster import Cluster
from keras_transformer.training.signs_of_life import answers
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
# Meets another process, then hangs while it holds Python's lock, as TensorFlow does.
CONNECTING = """
import ctypes, os, signal, sys
# What a script starts in the background ignores it.
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
from keras_transformer.training import worker_watch
from keras_transformer.training.cluster import Cluster
worker_watch.ASK_EVERY, worker_watch.LOST_AFTER_MEETING = 0.1, 1.0
cluster = Cluster(("chief", "worker 0"), tuple(sys.argv[1:3]), 0)
watch = worker_watch.WorkerWatch(cluster, "runs/ende", 60.0)
watch.meet()
signal.signal(signal.SIGINT, signal.SIG_IGN)
with watch.connecting():
    print("connecting", flush=True)
    if sys.argv[3] == "hang":
        ctypes.PyDLL(None).sleep(60)
print("connected", flush=True)
sys.stdin.read()
os.kill(os.getpid(), signal.SIGQUIT)
"""
LAST_WORDS = (
    "kt-trainer: chief: worker 0 ({}) has ended or was lost, and training cannot go on without it:"
    " see its own log, and start all workers again; they go on from the last checkpoint in"
    " runs/ende\n"
)


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


def wait_for_a_call(peer):
    calls, until = peer.calls, time.monotonic() + 30
    while peer.calls == calls:
        assert time.monotonic() < until
        time.sleep(0.02)


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
    assert process.stderr.read() == LAST_WORDS.format(peer.address)


@pytest.fixture
def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_all_meet(peer, free_port):
    cluster = Cluster(("chief", "worker 0"), (f"127.0.0.1:{free_port}", peer.address), 0)
    WorkerWatch(cluster, "runs/ende", 30.0).meet()
    # The port is free for TensorFlow again.
    socket.create_server(("127.0.0.1", free_port)).close()


def test_who_has_seen_all_stays_to_be_seen(peer, free_port):
    """A process that comes last would be there for some milliseconds only."""
    here = f"127.0.0.1:{free_port}"
    watch = WorkerWatch(Cluster(("chief", "worker 0"), (here, peer.address), 0), "runs/ende", 30.0)
    meeting = threading.Thread(target=watch.meet)
    meeting.start()
    wait_for_a_call(peer)
    time.sleep(2 * worker_watch.MEET_EVERY)
    assert answers(here)
    meeting.join()
    assert not answers(here)


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


def test_a_worker_lost_while_connecting_is_noticed_within_a_minute():
    # What one question to a machine without power takes is waited for at both ends.
    assert worker_watch.LOST_AFTER_MEETING + 2 * (worker_watch.ASK_EVERY + 5.0) < 60


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


@pytest.fixture
def connect(peer, free_port):
    """Starts a process that meets `peer` and comes back when it connects or has connected."""
    started = []

    def start(manner, line="connecting\n"):
        process = subprocess.Popen(
            [sys.executable, "-c", CONNECTING, f"127.0.0.1:{free_port}", peer.address, manner],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        while (said := process.stdout.readline()) != line:
            assert said, process.stderr.read()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_process_that_hangs_in_tensorflow_is_ended_when_the_other_dies(connect, peer):
    process = connect("hang")
    # Ctrl-C in the terminal reaches the whole group of processes; this one passes over it.
    os.killpg(process.pid, signal.SIGINT)
    for _ in range(15):
        wait_for_a_call(peer)
    assert process.poll() is None
    peer.close()
    closed = time.monotonic()
    assert process.wait(30) == LOST_STATUS
    assert time.monotonic() - closed > 0.9
    assert process.communicate()[1] == LAST_WORDS.format(peer.address)


@pytest.mark.slow
def test_a_process_that_does_not_even_take_signals(connect, peer):
    process = connect("hang")
    process.send_signal(signal.SIGSTOP)
    peer.close()
    assert process.wait(30) == -signal.SIGKILL
    assert process.communicate()[1] == LAST_WORDS.format(peer.address)


def test_who_watches_goes_when_all_are_connected(connect, peer):
    process = connect("come together", line="connected\n")
    assert psutil.Process(process.pid).children() == []
    peer.close()
    # Nothing is left behind: neither of the watch nor of what it does with the signal.
    assert process.communicate("", timeout=30)[1] == ""
    assert process.returncode == -signal.SIGQUIT


def test_who_watches_goes_with_the_process(connect, peer):
    process = connect("hang")
    (watching,) = psutil.Process(process.pid).children()
    wait_for_a_call(peer)
    process.kill()
    # The pipe of its errors is open until the last one goes.
    assert process.communicate(timeout=30)[1] == ""
    # It has closed the pipe before it is gone, and whoever inherits it may not collect it.
    until = time.monotonic() + 10
    while watching.is_running() and watching.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.01)
