"""Decoding on every device: the same outputs, in the same order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = ROOT / "tests" / "golden" / "t2t_trainer_run"
VOCABULARY = RUN / "vocab.oracle_toy_ende.256.subwords"
INPUT = RUN / "decode_input.txt"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done


@pytest.mark.slow
def test_both_devices_hold_the_model_and_decode():
    done = run("tests.unit.decoding.two_devices", str(RUN), str(VOCABULARY), str(INPUT))
    found = json.loads(done.stdout.splitlines()[-1])
    assert [[name[-5:] for name in names] for names in found["weights"]] == [["CPU:0"], ["CPU:1"]]
    assert len(found["batches"]) == 2 and sum(found["batches"].values()) == 27
    assert all(found["batches"].values())
    expected = (RUN / "decode_beam4_alpha06.txt").read_text("utf-8").splitlines()
    assert found["outputs"] == expected * 3


@pytest.mark.slow
@pytest.mark.parametrize("length_limit", ["sentence", "batch"])
def test_the_program_with_two_devices(tmp_path, length_limit):
    files = {}
    for devices in (1, 2):
        files[devices] = tmp_path / f"out{devices}"
        done = run(
            "keras_transformer.cli.decoder",
            *(f"--output_dir={RUN}", f"--vocab_file={VOCABULARY}", f"--logical_cpus={devices}"),
            *(f"--decode_from_file={INPUT}", f"--decode_to_file={files[devices]}"),
            *("--batch_size=3", f"--length_limit={length_limit}"),
        )
        assert ("decoding on 2 devices" in done.stderr) == (devices == 2)
    assert files[1].read_text() == files[2].read_text()
    assert files[1].read_text() == (RUN / "decode_beam4_alpha06.txt").read_text()
