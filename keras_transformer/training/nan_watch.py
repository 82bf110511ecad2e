"""What to do when the loss or the gradient is no number any more.

The update itself is left out by the compiled step, so the weights are those before it. Then either
training stops, with the batch saved for looking at, or goes on and counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

Batch = Mapping[str, tf.Tensor]
Describe = Callable[[Batch], list[str]]


class DivergedError(RuntimeError):
    """Loss or gradient is not finite and training was to stop; the message says where to look."""


def batch_path(run_dir: str | os.PathLike[str], step: int, worker: str = "") -> str:
    """Where the batch of a bad step is kept, or a worker's rows of it."""
    suffix = f"-{worker.replace(' ', '-')}" if worker else ""
    return os.path.join(run_dir, f"nan_batch-{step}{suffix}.npz")


def save_batch(
    run_dir: str | os.PathLike[str],
    step: int,
    batches: Sequence[Batch],
    describe: Describe | None = None,
    worker: str = "",
) -> str:
    """Writes the batches of a bad step: ids as `.npz`, and their text beside them if it is known.

    Args:
        run_dir: where to.
        step: the bad step.
        batches: all of that update, or a worker's rows of them.
        describe: gives the text of a batch, a line for each row.
        worker: its name, if several processes train together.

    Returns:
        Path of the `.npz`: arrays `<batch number>/<feature>`.
    """
    path = batch_path(run_dir, step, worker)
    arrays: dict[str, Any] = {
        f"{n}/{k}": np.asarray(v) for n, b in enumerate(batches) for k, v in b.items()
    }
    np.savez_compressed(path, **arrays)
    if describe is not None:
        with open(path.removesuffix(".npz") + ".txt", "w", encoding="utf-8") as stream:
            for batch in batches:
                stream.writelines(text + "\n" for text in describe(batch))
    return path


def message(step: int, loss: float, norm: float, path: str, workers: int = 1) -> str:
    """What the user is told."""
    others = " and the files of the other workers beside it" if workers > 1 else ""
    return (
        f"step {step}: loss {loss}, gradient norm {norm}: not a finite number. The weights are"
        f" those before this step; its batch is in {path}{others}. Usual reasons: a learning rate"
        " too high, a warm-up too short, batches far below the recipe's. --on_nan=skip leaves such"
        " steps out"
    )
