"""Averages of checkpoints, for decoding (paper 6.1; T2T's `avg_checkpoints` and `t2t-avg-all`).

The arithmetic mean of every weight over several checkpoints of one run, summed in float64, one
tensor at a time. The result is an ordinary checkpoint that keeps the step of its newest member and
is marked inference-only: the optimizer's state and the position in the data are left out, and the
trainer refuses to go on from it. Checkpoints of Tensor2Tensor can be averaged too; as in
`t2t-avg-all`, everything but `global_step` and `train_stats` is averaged there, slots included.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.training import checkpoints

# Beside the weights everything is copied, so that the folder can be decoded from like a run; but:
_LEFT_BEHIND = ("train_log.jsonl", "checkpoint", "flags_t2t.txt")


def last(run_dir: str | os.PathLike[str], number: int) -> list[str]:
    """Prefixes of the newest `number` checkpoints of a run, oldest first.

    Raises:
        UserError: there are fewer.
    """
    steps = checkpoints.all_steps(run_dir)
    if number < 1:
        raise UserError(f"{number} checkpoints are to be averaged: at least 1 is needed")
    if len(steps) < number:
        raise UserError(
            f"{number} checkpoints are to be averaged, but {run_dir} holds {len(steps)}"
            f" ({_listed(steps)}); average fewer, or train with --keep_checkpoint_max of at least"
            f" {number}"
        )
    return [checkpoints.path_of(run_dir, step) for step in steps[-number:]]


def mean(prefixes: Sequence[str]) -> dict[str, np.ndarray]:
    """Name → mean over the checkpoints, in the type each tensor has there.

    Raises:
        UserError: no checkpoint, one named twice, or variables that are not the same in all.
    """
    readers = _same_variables(prefixes)
    averaged = {}
    for name in _averaged_names(readers[0]):
        dtype = readers[0].dtype(name)
        if not dtype.is_floating:
            continue
        total = np.zeros(readers[0].shape(name), np.float64)
        for reader in readers:
            total += reader.tensor(name)
        averaged[name] = (total / len(readers)).astype(dtype.as_numpy_dtype)
    return averaged


def average(prefixes: Sequence[str], output_dir: str | os.PathLike[str]) -> str:
    """Averages checkpoints into one of `output_dir`, which can then be decoded from as a run.

    Args:
        prefixes: the checkpoints; order does not matter.
        output_dir: folder; made if need be. The settings and vocabularies of the run are copied.

    Returns:
        Prefix of the new checkpoint, with the step of the newest one averaged.
    """
    ordered = sorted(prefixes, key=checkpoints.step_of)
    tensors: dict[str, Any] = mean(ordered)
    newest = checkpoints.read(ordered[-1])
    for name in newest.names():
        # T2T's counters; t2t-avg-all writes them as zero.
        if newest.dtype(name).is_integer and name != checkpoints.GLOBAL_STEP:
            tensors[name] = np.zeros(newest.shape(name), newest.dtype(name).as_numpy_dtype)
    state = {
        "inference_only": True,
        "averaged": [os.path.basename(prefix) for prefix in ordered],
    }
    os.makedirs(output_dir, exist_ok=True)
    copy_run_files(Path(ordered[-1]).parent, Path(output_dir))
    written = checkpoints.save(output_dir, newest.global_step, tensors, state)
    # As T2T does: the time a checkpoint was trained, not the time it was averaged.
    times = os.stat(ordered[-1] + ".index")
    os.utime(written + ".index", (times.st_atime, times.st_mtime))
    return written


def running(
    run_dir: str | os.PathLike[str], number: int, output_dir: str | os.PathLike[str]
) -> list[str]:
    """T2T's `t2t-avg-all`: for each checkpoint, from the `number`-th on, the mean of the last ones.

    Returns:
        Prefixes of the new checkpoints, ascending.

    Raises:
        UserError: the run holds fewer than `number`.
    """
    last(run_dir, number)
    steps = checkpoints.all_steps(run_dir)
    paths = [checkpoints.path_of(run_dir, step) for step in steps]
    ends = range(number, len(paths) + 1)
    return [average(paths[end - number : end], output_dir) for end in ends]


def copy_run_files(source: Path, target: Path) -> None:
    """Copies what decoding needs beside the weights: settings, problem, vocabularies, flags."""
    if source.resolve() == target.resolve():
        raise UserError(
            f"{target} is the run directory itself: the average would take the place of a"
            " checkpoint that training continues from; give another --output_dir"
        )
    for path in sorted(source.iterdir()):
        if (
            path.is_file()
            and not path.name.startswith((checkpoints.PREFIX, "events.", "."))
            and path.name not in _LEFT_BEHIND
            and path.suffix != ".pbtxt"
        ):
            shutil.copy2(path, target / path.name)


def _averaged_names(reader: checkpoints.Reader) -> list[str]:
    left_out = (checkpoints.GLOBAL_STEP, checkpoints.TRAIN_STATE, checkpoints.DATA_ITERATOR)
    return [
        name
        for name in reader.names()
        if name not in left_out and not name.startswith((checkpoints.OPTIMIZER, "train_stats/"))
    ]


def _same_variables(prefixes: Sequence[str]) -> list[checkpoints.Reader]:
    if not prefixes:
        raise UserError("no checkpoint to average was named")
    for prefix in prefixes:
        if list(prefixes).count(prefix) > 1:
            raise UserError(f"{prefix} is named twice: the average would weigh it double")
    readers = [checkpoints.read(prefix) for prefix in prefixes]
    first = {name: readers[0].shape(name) for name in _averaged_names(readers[0])}
    for reader in readers[1:]:
        other = {name: reader.shape(name) for name in _averaged_names(reader)}
        differing = sorted(set(first.items()) ^ set(other.items()))
        if differing:
            raise UserError(
                f"{readers[0].prefix} and {reader.prefix} are not of the same model:"
                f" {differing[0][0]} is only in one of them, or has another shape"
            )
    return readers


def _listed(steps: Sequence[int]) -> str:
    return ("steps " + ", ".join(map(str, steps))) if steps else "none"
