"""Contestants are real processes here, with work that takes no time."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from benchmarks import model_products, report
from benchmarks.harness import REPOSITORY, WORKERS, Contestant, ContestantError, Measure, compete
from benchmarks.settings import QUICK, Settings
from benchmarks.training import rows_of_ids

WORKER = """
import os

import protocol

def prepare(job):
    print("libraries say this and that")
    if job.get("broken"):
        import no_such_library
    if job.get("pid_file"):
        with open(job["pid_file"], "w") as stream:
            stream.write(str(os.getpid()))
    seconds = iter(job["seconds"])
    return (lambda: ({"work": (job["units"], next(seconds))}, job["result"])), {"library": "1.2"}

protocol.serve(prepare)
"""


@pytest.fixture
def contestant(tmp_path):
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)

    def make(name, seconds=(1.0, 2.0, 4.0), is_peer=False, python=sys.executable, **job):
        job = {"warm_up_rounds": 0, "units": 8, "result": 7, "seconds": list(seconds), **job}
        return Contestant(
            name,
            str(worker),
            job,
            python=python,
            product="products",
            is_peer=is_peer,
            environment={"PYTHONPATH": str(WORKERS)},
        )

    return make


def run(*contestants, rounds=3):
    measure = Measure("work", "some work", "units", contestants, parameters=1 << 20)
    return measure, *compete(measure, rounds, threads=1)


def test_rates_are_medians_and_ratios_those_of_the_rounds(contestant):
    ours = contestant("ours", seconds=(1.0, 2.0, 4.0))
    peer = contestant("peer", seconds=(3.0, 2.0, 8.0), is_peer=True)
    _, (mine, theirs), left_out = run(ours, peer)
    assert left_out == {}
    assert mine.rate("work") == 4.0
    assert theirs.rate("work") == 8 / 3
    # 3, 1 and 2 times as fast.
    assert mine.times(theirs, "work") == 2.0
    assert mine.peak_memory > 1 << 20
    assert mine.versions["library"] == "1.2"
    assert "python" in mine.versions


def test_share_of_the_products(contestant):
    measure, outcomes, left_out = run(contestant("ours"), contestant("products", units=16))
    assert report.share_of_products(outcomes[0], outcomes, "work") == 0.5
    written = report.as_json(measure, outcomes, left_out)["contestants"]["ours"]
    assert written["of_products"] == {"work": 0.5}
    assert written["rounds"] == [{"work": 8.0}, {"work": 4.0}, {"work": 2.0}]
    assert "0.50" in report.table(measure, outcomes, left_out)


def test_a_missing_or_broken_peer_is_left_out_by_name(contestant):
    ours = contestant("ours")
    missing = contestant("missing", is_peer=True, python=None)
    broken = contestant("broken", is_peer=True, broken=True)
    too_few = contestant("tired", seconds=(1.0,), is_peer=True)
    measure, outcomes, left_out = run(ours, missing, broken, too_few)
    assert [outcome.contestant.name for outcome in outcomes] == ["ours"]
    assert "not installed" in left_out["missing"]
    assert "no_such_library" in left_out["broken"]
    assert "StopIteration" in left_out["tired"]
    table = report.table(measure, outcomes, left_out)
    assert all(f"left out: {name}" in table for name in left_out)


def test_no_table_without_us(contestant):
    with pytest.raises(ContestantError, match="ours failed"):
        run(contestant("ours", broken=True), contestant("peer", is_peer=True))


def test_no_process_is_left_behind(contestant, tmp_path):
    def interrupt(text):
        raise KeyboardInterrupt

    ours = contestant("ours", pid_file=str(tmp_path / "pid"))
    with pytest.raises(KeyboardInterrupt):
        compete(Measure("work", "some work", "units", [ours]), 1, 1, say=interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_work_with_another_result_is_not_compared(contestant):
    with pytest.raises(ContestantError, match="not the same work"):
        run(contestant("ours"), contestant("peer", is_peer=True, result=8))


def test_products_of_the_base_model():
    hp = Settings().settings_of_model()
    step = model_products.of_training_step(hp, 32000, 1, 1)
    # Every weight of a kernel and of the logits once, forward and twice backward.
    kernels = 6 * (4 + 8) * 512 * 512 + 12 * 2 * 512 * 2048 + 512 * 32000
    assert model_products.operations(step) == 6 * kernels
    decoding = model_products.of_decoding(hp, 32000, sentences=1, beam_size=1, length=1)
    assert model_products.operations(decoding) == 2 * kernels
    assert sum(each["matrices"] for each in decoding) == 6 * (4 + 8) + 12 * 2 + 1


def test_batches_hold_whole_sentences():
    rows = rows_of_ids(sentences=20, longest=30, vocab_size=100, seed=1)
    lengths = [sum(1 for number in row if number) for row in rows]
    assert min(lengths) >= 24
    assert all(row[length - 1] == 1 for row, length in zip(rows, lengths, strict=True))
    assert all(
        3 <= number < 99 for row, n in zip(rows, lengths, strict=True) for number in row[: n - 1]
    )
    assert rows == rows_of_ids(sentences=20, longest=30, vocab_size=100, seed=1)


def test_the_model_of_the_quick_sizes_is_small():
    assert QUICK.parameters() < 2_000_000 < Settings().parameters()


def bench(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.run", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def test_unknown_measures_are_refused():
    done = bench("--only=training,speed")
    assert done.returncode == 2
    assert "'speed' is none of training, decoding, encoding" in done.stderr


@pytest.mark.slow
def test_the_quick_measures_run(tmp_path):
    path = tmp_path / "results.json"
    only = "--only=training,decoding,encoding"
    done = bench("--quick", only, f"--peers_dir={tmp_path}", f"--json={path}")
    assert done.returncode == 0, done.stderr
    assert "left out: OpenNMT-tf float32" in done.stdout
    results = json.loads(path.read_text("utf-8"))
    assert results["cores"] >= 1
    assert set(results["measures"]) == {"training", "decoding", "encoding"}
    for measure in results["measures"].values():
        ours = [name for name in measure["contestants"] if name.startswith("keras_transformer")]
        assert ours
        for name in ours:
            contestant = measure["contestants"][name]
            assert all(rate > 0 for rate in contestant["per_core_second"].values())
            assert all(share > 0 for share in contestant["of_products"].values())
            assert contestant["of_products"]
            assert contestant["peak_memory_bytes"] > 10 << 20
