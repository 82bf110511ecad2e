"""What the trainer's options cost: CPU time of a target token, as a ratio to the plain step's.

python -m benchmarks.run --only=variants
python -m benchmarks.run --only=variants --hparams=small --vocab_size=8000
"""

from __future__ import annotations

from typing import Any

from benchmarks.harness import Contestant, Measure
from benchmarks.settings import Settings
from benchmarks.training import rows_of_ids

PLAIN = "plain"
ACCUMULATED = 4
# The option of `kt-trainer`, and what the worker is told.
VARIANTS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    f"simulate_replicas={ACCUMULATED}": {"accumulate": ACCUMULATED},
    "logical_cpus=2": {"logical_cpus": 2},
    "precision=bfloat16": {"overrides": "activation_dtype=bfloat16"},
    "jit": {"jit": True},
}


def measure(settings: Settings) -> Measure:
    """Full updates with one option each, on the same batch.

    With `simulate_replicas` an update has so many of these batches, with `logical_cpus` the batch
    is divided between the devices, so the work for a target token is the same in all.
    """
    batch = {
        side: rows_of_ids(settings.sentences, settings.longest, settings.vocab_size, seed)
        for seed, side in enumerate(("inputs", "targets"))
    }
    job = {
        **{"hparams": settings.hparams, "vocab_size": settings.vocab_size, **batch},
        "overrides": "",
    }
    target = sum(1 for row in batch["targets"] for number in row if number)
    return Measure(
        "variants",
        f"full steps of {settings.hparams}, vocabulary {settings.vocab_size:,}, batches of"
        f" {target:,} target tokens",
        "target tokens",
        [Contestant(name, "training.py", {**job, **more}) for name, more in VARIANTS.items()],
        baseline=PLAIN,
    )
