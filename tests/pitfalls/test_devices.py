"""Data that cannot be shared out evenly among the devices."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.programs.test_trainer import TINY, log_of, start

DATA = Path(__file__).parent / "data"


@pytest.mark.slow
def test_a_last_batch_smaller_than_the_number_of_devices(tmp_path):
    """OpenNMT/OpenNMT-tf#544: five pairs, one for each of two devices at a time."""
    files = [
        f"--{split}_{side}={DATA / 'empty_replica'}.{end}"
        for split in ("train", "dev")
        for side, end in (("source", "src"), ("target", "tgt"))
    ]
    run_dir = tmp_path / "run"
    process = start(
        [
            *("--problem=text2text", "--vocab_size=60", *files, "--logical_cpus=2"),
            f"--hparams={TINY},use_fixed_batch_size=true,batch_size=1,max_length=64".replace(
                "batch_size=60,", ""
            ),
            *(f"--data_dir={tmp_path / 'data'}", f"--output_dir={run_dir}"),
            *("--train_steps=6", "--log_step_count_steps=1", "--eval_steps=0"),
        ]
    )
    said = process.communicate()[1]
    assert process.returncode == 0, said
    assert log_of(run_dir, "start")[0]["replicas"] == 2
    losses = [record["loss"] for record in log_of(run_dir, "train")]
    assert len(losses) == 5 and all(map(math.isfinite, losses))  # the first is told on its own
    # One pass over the five pairs: 2 + 2 + 1.
    (evaluation,) = log_of(run_dir, "eval")
    assert evaluation["batches"] == 3 and math.isfinite(evaluation["loss"])
    lengths = json.loads((tmp_path / "data" / "text2text.manifest.json").read_text())
    lengths = lengths["splits"]["dev"]["lengths"]
    assert evaluation["target_tokens"] == sum(int(size) * n for size, n in lengths.items())
