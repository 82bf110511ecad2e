"""`TF_CONFIG` as people write it, right and wrong; and who answers at an address."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from keras_transformer.cli.trainer import main, program
from keras_transformer.cli.training_run import training_cluster
from keras_transformer.errors import UserError
from keras_transformer.training import cluster

ROOT = Path(__file__).parents[3]


def read(jobs, kind="worker", index=0):
    config = {"cluster": jobs, "task": {"type": kind, "index": index}}
    return cluster.from_environment({"TF_CONFIG": json.dumps(config)})


def test_workers_only():
    second = read({"worker": ["a:1", "b:2"]}, index=1)
    assert second == cluster.Cluster(("worker 0", "worker 1"), ("a:1", "b:2"), 1)
    assert not second.is_chief and second.name == "worker 1" and second.others == [0]
    assert read({"worker": ["a:1", "b:2"]}).is_chief
    assert second.title(0) == "worker 0 (a:1)"


def test_a_chief_comes_first():
    jobs = {"worker": ["a:1", "b:2"], "chief": ["c:3"]}
    assert read(jobs, "chief").is_chief
    last = read(jobs, index=1)
    assert last.names == ("chief", "worker 0", "worker 1") and last.number == 2
    assert last.addresses == ("c:3", "a:1", "b:2")


def test_an_index_written_by_a_shell_and_an_address_of_ipv6():
    assert read({"worker": ["[::1]:22", "b:2"]}, index="1").number == 1


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_nothing(text):
    assert cluster.from_environment({"TF_CONFIG": text}) is None
    assert cluster.from_environment({}) is None


def test_one_process_is_no_cluster():
    assert read({"worker": ["a:1"]}) is None
    assert read({"chief": ["a:1"]}, "chief") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{'cluster': {}}", "not JSON"),
        ("[]", "must be a JSON object"),
        ('{"task": {"type": "worker", "index": 0}}', "has no cluster"),
        ('{"cluster": {"worker": ["a:1", "b:2"]}}', "has no task"),
    ],
)
def test_no_configuration(text, message):
    with pytest.raises(UserError, match=message):
        cluster.from_environment({"TF_CONFIG": text})


TWO = {"worker": ["a:1", "b:2"]}


@pytest.mark.parametrize(
    ("jobs", "kind", "index", "message"),
    [
        ({**TWO, "ps": ["c:3"]}, "worker", 0, "'ps'.*no parameter servers"),
        (TWO, "ps", 0, "no parameter servers"),
        (TWO, "evaluator", 0, "--schedule=continuous_eval without TF_CONFIG"),
        ({**TWO, "evaluator": ["c:3"]}, "worker", 0, "--schedule=continuous_eval"),
        ({"master": ["a:1"], **TWO}, "worker", 0, "call it chief"),
        ({"workers": ["a:1", "b:2"]}, "worker", 0, "the jobs are chief and worker"),
        ({"chief": ["c:3", "d:4"], **TWO}, "chief", 0, "has 2 chiefs"),
        (TWO, "chief", 0, "none of the cluster's jobs worker"),
        (TWO, "worker", 2, r"task.index is 2, but cluster.worker has 2 task\(s\)"),
        (TWO, "worker", -1, "task.index is -1"),
        (TWO, "worker", None, "must be a whole number"),
        (TWO, "worker", True, "must be a whole number"),
        (TWO, None, 0, "task.type is None"),
        (TWO, ["worker"], 0, r"task.type is \['worker'\]"),
        ({}, "worker", 0, "the cluster is empty"),
        ({"worker": []}, "worker", 0, "must be a list of host:port"),
        ({"worker": "a:1,b:2"}, "worker", 0, "must be a list of host:port"),
        ({"worker": ["a", "b:2"]}, "worker", 0, "'a' in cluster.worker must be host:port"),
        ({"worker": ["a:99999", "b:2"]}, "worker", 0, "'a:99999' in cluster.worker"),
        ({"worker": ["a:1", 2]}, "worker", 0, "2 in cluster.worker"),
        ({"worker": ["a:1", "a:1"]}, "worker", 0, "a:1 to two tasks"),
    ],
)
def test_a_wrong_cluster(jobs, kind, index, message):
    with pytest.raises(UserError, match=message):
        read(jobs, kind, index)


def test_a_mistake_is_told_before_tensorflow_is_loaded(tmp_path):
    began = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-X", "importtime", "-m", "keras_transformer.cli.trainer"),
            *("--problem=text2text", "--hparams=tiny"),
            *(f"--data_dir={tmp_path}/data", f"--output_dir={tmp_path}/run"),
        ],
        env={"TF_CONFIG": "{", "PATH": "/usr/bin:/bin"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "kt-trainer: TF_CONFIG is not JSON" in done.stderr
    assert "import time:" in done.stderr and "| tensorflow" not in done.stderr
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--strategy=multi_worker"], "needs the variable TF_CONFIG with more than one worker"),
        (["--strategy=mirrored", "--tpu=a"], "--tpu=a is for --strategy=tpu, not mirrored"),
    ],
)
def test_flags_that_contradict(flags, message, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    given = ["--problem=text2text", "--hparams=tiny", f"--output_dir={tmp_path}/run"]
    assert main([*given, f"--data_dir={tmp_path}/data", *flags]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "flags", [["--strategy=mirrored"], ["--tpu=a"], ["--schedule=evaluate"], ["--strategy=tpu"]]
)
def test_who_passes_over_the_cluster(flags, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{")
    assert training_cluster(program._parse(["--output_dir=run", *flags])) is None


def serve(answer: bytes) -> str:
    """A server that gives one answer to every call."""
    server = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            connection, _ = server.accept()
            connection.sendall(answer)
            threading.Timer(2.0, connection.close).start()

    threading.Thread(target=accept, daemon=True).start()
    return f"127.0.0.1:{server.getsockname()[1]}"


SETTINGS_FRAME = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("answer", "is_alive"),
    [
        (SETTINGS_FRAME, True),
        (b"SSH-2.0-OpenSSH_9.6\r\n", False),
        (b"", False),  # the operating system takes calls for a process that is frozen
    ],
)
def test_who_answers(answer, is_alive):
    assert cluster.answers(serve(answer), seconds=0.5) is is_alive


def test_nobody_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert not cluster.answers(f"127.0.0.1:{port}", 0.5)
    assert not cluster.answers("no-such-host.invalid:1", 0.5)


def test_waiting_for_the_chief(capfd):
    two = cluster.Cluster(("chief", "worker 0"), (serve(SETTINGS_FRAME), "b:2"), 1)
    two.wait_for_chief(5.0)
    assert capfd.readouterr().err == ""

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    alone = cluster.Cluster(("chief", "worker 0"), (f"127.0.0.1:{port}", "b:2"), 1)
    with pytest.raises(UserError, match=r"the chief \(.*\) has not come up within 1 sec"):
        alone.wait_for_chief(1.0)
    assert capfd.readouterr().err.startswith("worker 0: waiting for the chief (127.0.0.1:")
