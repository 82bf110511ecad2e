"""Runs contestants in turn and compares them.

Each contestant is a process of its own that stays alive: all make one round, then all the next one
(A B A B), so that a change of the machine's speed meets all alike. While one works the others wait.
Times are CPU seconds of the process: with one thread, rates per core-second, which hold up on a
machine that others use too. A ratio is the median of the ratios of the rounds.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
WORKERS = Path(__file__).resolve().parent / "workers"
PATIENCE = 5.0  # seconds until a process that was told to end is made to


class ContestantError(Exception):
    """A process that did not do its work; the text is the end of what it said."""


@dataclass(frozen=True)
class Contestant:
    """Who is measured.

    Attributes:
        name: in the table.
        worker: file in `workers/`.
        job: what it is told.
        python: interpreter; None: a peer that is not installed.
        product: name of the contestant that does the matrix products of the same type alone.
        is_peer: it is what we are compared with, and may be missing.
        environment: variables for its process.
    """

    name: str
    worker: str
    job: dict[str, Any]
    python: str | None = sys.executable
    product: str | None = None
    is_peer: bool = False
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """One table: contestants that do the same work.

    Attributes:
        name: what `--only` calls it.
        title: heading, with what the work is.
        unit: what rates count.
        contestants: in the order of their turns; the first that is no product must not fail.
        parameters: numbers in the model, of which memory is given as a multiple; 0: it is not.
        baseline: contestant of which the others' time for a unit is given as a multiple.
    """

    name: str
    title: str
    unit: str
    contestants: Sequence[Contestant]
    parameters: int = 0
    baseline: str = ""


@dataclass
class Outcome:
    """What one contestant did: its rounds, oldest first."""

    contestant: Contestant
    versions: dict[str, str]
    rounds: list[dict[str, float]] = field(default_factory=list)  # figure → units per CPU second
    peak_memory: int = 0  # bytes
    checked: Any = None  # equal for all

    def rate(self, figure: str) -> float:
        """Median of units per CPU second."""
        return statistics.median(each[figure] for each in self.rounds)

    def times(self, other: Outcome, figure: str) -> float:
        """How many times as fast as the other."""
        pairs = zip(self.rounds, other.rounds, strict=True)
        return statistics.median(mine[figure] / theirs[figure] for mine, theirs in pairs)


def environment_of(threads: int) -> dict[str, str]:
    """The variables of a measured process."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(REPOSITORY)}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[name] = str(threads)
    return environment | {"CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "1"}


class Process:
    """A contestant's process."""

    def __init__(self, contestant: Contestant, job_file: Path, threads: int):
        assert contestant.python
        environment = environment_of(threads)
        if contestant.is_peer:
            # It sees neither this project nor what this interpreter was told to import.
            environment["PYTHONPATH"] = ""
        # Closed in `close`, with the process.
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [contestant.python, str(WORKERS / contestant.worker), str(job_file)],
            env={**environment, **contestant.environment},
            cwd=WORKERS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )

    def listen(self) -> dict[str, Any]:
        """The next report.

        Raises:
            ContestantError: there is none.
        """
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._said.seek(0)
            lines = self._said.read().strip().splitlines()
            raise ContestantError("\n".join(lines[-20:]) or "it said nothing")
        return json.loads(line)

    def ask(self) -> dict[str, Any]:
        """One round."""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # `listen` says why
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        return self.listen()

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:  # in the middle of its work
            self._process.terminate()
            self._process.wait()
        self._process.stdout.close()
        self._said.close()


def compete(
    measure: Measure, rounds: int, threads: int, say: Callable[[str], None] = lambda text: None
) -> tuple[list[Outcome], dict[str, str]]:
    """Runs a measure.

    Args:
        measure: what.
        rounds: turns of each contestant.
        threads: of each process.
        say: called with a line of text as it goes.

    Returns:
        what each contestant did, and peers that were left out with the reason.

    Raises:
        ContestantError: one that is no peer failed, or results that must be equal are not.
    """
    left_out: dict[str, str] = {}
    running: list[tuple[Outcome, Process]] = []
    # However this ends, no process is left behind.
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as processes:
        for contestant in measure.contestants:
            if contestant.python is None:
                left_out[contestant.name] = "not installed (benchmarks/peers.sh)"
                continue
            job_file = Path(folder) / "job.json"
            job = {"threads": threads, "warm_up_rounds": 1, **contestant.job}
            job_file.write_text(json.dumps(job), encoding="utf-8")
            process = Process(contestant, job_file, threads)
            processes.callback(process.close)
            try:
                running.append((Outcome(contestant, process.listen()["versions"]), process))
                say(f"{contestant.name} is ready")
            except ContestantError as error:
                _leave_out(contestant, error, left_out)
        for number in range(1, rounds + 1):
            for outcome, process in list(running):
                try:
                    _take_turn(outcome, process)
                    rates = ", ".join(f"{k} {v:.4g}" for k, v in outcome.rounds[-1].items())
                    say(f"round {number}, {outcome.contestant.name}: {rates}")
                except ContestantError as error:
                    running.remove((outcome, process))
                    _leave_out(outcome.contestant, error, left_out)
    outcomes = [outcome for outcome, _ in running]
    _check_equal(outcomes)
    return outcomes, left_out


def _leave_out(contestant: Contestant, error: ContestantError, left_out: dict[str, str]) -> None:
    if not contestant.is_peer:
        raise ContestantError(f"{contestant.name} failed:\n{error}") from None
    left_out[contestant.name] = f"failed: {str(error).splitlines()[-1]}"


def _take_turn(outcome: Outcome, process: Process) -> None:
    report = process.ask()
    rates = {figure: units / seconds for figure, (units, seconds) in report["figures"].items()}
    outcome.rounds.append(rates)
    outcome.peak_memory = report["peak_memory"]
    outcome.checked = report["checked"]


def _check_equal(outcomes: Sequence[Outcome]) -> None:
    checked = [each for each in outcomes if each.checked is not None]
    for other in checked[1:]:
        if other.checked != checked[0].checked:
            first, name = checked[0].contestant.name, other.contestant.name
            raise ContestantError(
                f"{name} gives {other.checked}, {first} {checked[0].checked}: not the same work"
            )
