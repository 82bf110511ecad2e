"""The cost of the trainer's options, as ratios to the plain step."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks import report, step_variants
from benchmarks.harness import REPOSITORY, Contestant, Measure, Outcome
from benchmarks.settings import QUICK


def outcome(name, *rates):
    return Outcome(Contestant(name, "worker.py", {}), {}, [{"work": rate} for rate in rates])


def test_times_are_medians_of_the_rounds_ratios():
    plain, slow = outcome("plain", 10.0, 20.0, 30.0), outcome("slow", 5.0, 5.0, 10.0)
    measure = Measure("m", "t", "units", [], baseline="plain")
    assert report.time_of_baseline(measure, slow, [plain, slow], "work") == 3.0
    assert report.time_of_baseline(measure, plain, [plain, slow], "work") == 1.0
    assert report.time_of_baseline(Measure("m", "t", "u", []), slow, [plain, slow], "work") is None
    written = report.as_json(measure, [plain, slow], {})["contestants"]
    assert written["slow"]["time_of_baseline"] == {"work": 3.0}
    row = next(
        line for line in report.table(measure, [plain, slow], {}).splitlines() if "slow" in line
    )
    assert row.split() == ["slow", "5", "3.00"]


def test_every_variant_gets_the_same_batch():
    measure = step_variants.measure(QUICK)
    assert measure.contestants[0].name == measure.baseline == "plain"
    assert {each.name.split("=")[0] for each in measure.contestants[1:]} == {
        *("simulate_replicas", "logical_cpus", "precision", "jit"),
    }
    batches = [
        json.dumps([each.job["inputs"], each.job["targets"]]) for each in measure.contestants
    ]
    assert len(set(batches)) == 1


@pytest.mark.slow
def test_the_quick_measure_runs(tmp_path):
    path = tmp_path / "results.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.run", "--quick", "--only=variants", f"--json={path}"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    contestants = json.loads(path.read_text("utf-8"))["measures"]["variants"]["contestants"]
    assert set(contestants) == set(step_variants.VARIANTS)
    times = {name: each["time_of_baseline"]["target tokens"] for name, each in contestants.items()}
    assert times.pop("plain") == 1.0
    assert all(time > 0 for time in times.values())
