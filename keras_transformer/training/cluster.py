"""The processes that train one run together, as `TF_CONFIG` names them.

    TF_CONFIG='{"cluster": {"worker": ["a.example:2222", "b.example:2222"]},
                "task": {"type": "worker", "index": 0}}'

Every process gets the same cluster and its own task, as TensorFlow's `MultiWorkerMirroredStrategy`
wants it. The chief is the task of the job `chief` or, without one, worker 0. No TensorFlow is
loaded here: a mistake in the variable is told at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keras_transformer.errors import UserError
from keras_transformer.training.signs_of_life import SETTINGS_FRAME, answers

TF_CONFIG = "TF_CONFIG"
# Seconds between two looks for a process that is not up yet.
POLL_EVERY = 1.0
# Seconds between two lines about what is waited for.
SAY_EVERY = 60.0

_OTHER_JOBS = {
    "ps": "there are no parameter servers: all workers hold the weights; leave it out",
    "evaluator": (
        "evaluation beside training is a program of its own: start kt-trainer"
        " --schedule=continuous_eval without TF_CONFIG"
    ),
    "master": "call it chief",
}


@dataclass(frozen=True)
class Cluster:
    """All processes of a training, and which of them this one is.

    Attributes:
        names: of all, the chief's first: `chief` or `worker 0`, …
        addresses: host:port of each.
        number: this process's place among them.
    """

    names: tuple[str, ...]
    addresses: tuple[str, ...]
    number: int

    @property
    def is_chief(self) -> bool:
        """Whether this process writes the files."""
        return self.number == 0

    @property
    def name(self) -> str:
        """What this process is called."""
        return self.names[self.number]

    def title(self, number: int) -> str:
        """A process with its address, for messages."""
        article = "the " if self.names[number] == "chief" else ""
        return f"{article}{self.names[number]} ({self.addresses[number]})"

    @property
    def others(self) -> list[int]:
        """Places of all processes but this one."""
        return [number for number in range(len(self.names)) if number != self.number]

    def wait_for_chief(self, seconds: float) -> None:
        """Waits until the chief's port is open, which it is when data and run directory are made.

        Raises:
            UserError: it is not within so many seconds.
        """
        began = said = time.monotonic()
        while not answers(self.addresses[0]):
            now = time.monotonic()
            if now - began >= seconds:
                raise UserError(
                    f"{self.title(0)} has not come up within {seconds:.0f} seconds: start it,"
                    " or, if it is still making data, make that before with kt-datagen or give a"
                    " larger --worker_timeout"
                )
            if said == began or now - said >= SAY_EVERY:
                said = now
                print(
                    f"{self.name}: waiting for {self.title(0)}, which prepares the run",
                    file=sys.stderr,
                    flush=True,
                )
            time.sleep(POLL_EVERY)


def from_environment(environ: Mapping[str, str] | None = None) -> Cluster | None:
    """What `TF_CONFIG` says; None without it, or if it names one process only.

    Raises:
        UserError: it is no JSON, or not a cluster of chief and workers with a task of it.
    """
    text = (os.environ if environ is None else environ).get(TF_CONFIG, "").strip()
    if not text:
        return None
    try:
        config = json.loads(text)
    except ValueError as error:
        raise UserError(f"{TF_CONFIG} is not JSON ({error}): {text}") from None
    if config == {}:
        return None
    if not isinstance(config, dict):
        raise UserError(f"{TF_CONFIG} must be a JSON object with cluster and task: {text}")
    for key in ("cluster", "task"):
        if not isinstance(config.get(key), dict):
            raise UserError(f"{TF_CONFIG} has no {key}, which must be a JSON object: {text}")
    jobs = _jobs(config["cluster"])
    kind, index = _task(config["task"], jobs)
    places = [(job, n) for job in ("chief", "worker") for n in range(len(jobs.get(job, [])))]
    if len(places) == 1:
        return None
    return Cluster(
        names=tuple(job if job == "chief" else f"{job} {n}" for job, n in places),
        addresses=tuple(jobs[job][n] for job, n in places),
        number=places.index((kind, index)),
    )


def _jobs(cluster: Mapping[str, Any]) -> dict[str, list[str]]:
    seen: list[str] = []
    for job, addresses in cluster.items():
        if job not in ("chief", "worker"):
            way_out = _OTHER_JOBS.get(job, "the jobs are chief and worker")
            raise UserError(
                f"{TF_CONFIG} has the job {job!r}, which does not exist here: {way_out}"
            )
        if not isinstance(addresses, list) or not addresses:
            raise UserError(f"{TF_CONFIG}: cluster.{job} must be a list of host:port")
        for address in addresses:
            _require_address(job, address)
        seen += addresses
    if not seen:
        raise UserError(f"{TF_CONFIG}: the cluster is empty; list the workers as host:port")
    if len(cluster.get("chief", [])) > 1:
        raise UserError(f"{TF_CONFIG} has {len(cluster['chief'])} chiefs: there may be one")
    twice = sorted({address for address in seen if seen.count(address) > 1})
    if twice:
        raise UserError(f"{TF_CONFIG} gives {twice[0]} to two tasks: each needs a port of its own")
    return dict(cluster)


def _require_address(job: str, address: Any) -> None:
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UserError(f"{TF_CONFIG}: {address!r} in cluster.{job} must be host:port")


def _task(task: Mapping[str, Any], jobs: Mapping[str, list[str]]) -> tuple[str, int]:
    kind, index = task.get("type"), task.get("index")
    if isinstance(kind, str) and kind in _OTHER_JOBS:
        raise UserError(f"{TF_CONFIG}: task.type is {kind!r}: {_OTHER_JOBS[kind]}")
    if not isinstance(kind, str) or kind not in jobs:
        raise UserError(
            f"{TF_CONFIG}: task.type is {kind!r}, which is none of the cluster's jobs"
            f" {', '.join(jobs)}"
        )
    if isinstance(index, str) and index.isascii() and index.isdigit():
        index = int(index)  # as scripts of shells write it; TensorFlow takes it, too
    if not isinstance(index, int) or isinstance(index, bool):
        raise UserError(f"{TF_CONFIG}: task.index is {index!r}: it must be a whole number")
    if not 0 <= index < len(jobs[kind]):
        raise UserError(
            f"{TF_CONFIG}: task.index is {index}, but cluster.{kind} has {len(jobs[kind])} task(s),"
            " counted from 0"
        )
    return kind, index


class Door:
    """Answers at this process's address until TensorFlow's server is up there; enter it.

    Raises:
        UserError: the port is taken.
    """

    def __init__(self, cluster: Cluster):
        self._address = cluster.addresses[cluster.number]
        port = int(self._address.rpartition(":")[2])
        try:
            self._server = _listen(port)
        except OSError as error:
            raise UserError(
                f"{cluster.name} cannot listen at port {port} of {TF_CONFIG} ({error.strerror}):"
                " another process has it, perhaps a worker with the same task.index; name a free"
                " port"
            ) from None
        self._server.settimeout(0.1)
        self._is_open = True
        self._thread = threading.Thread(target=self._answer, daemon=True)

    def __enter__(self) -> Door:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_open = False
        self._thread.join()
        self._server.close()

    def _answer(self) -> None:
        while self._is_open:
            # A caller who hangs up at once is no reason to stop.
            with contextlib.suppress(OSError):
                connection, _ = self._server.accept()
                with connection:
                    connection.sendall(SETTINGS_FRAME)


def _listen(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128
            )
    return socket.create_server(("", port), backlog=128)
