"""Checkpoints made for tests: parts of Tensor2Tensor's, changed or broken on purpose."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

GOLDEN = Path(__file__).parents[2] / "golden"
MODELS = GOLDEN / "models"
# Written by Tensor2Tensor itself, Adam's moments included.
BASE_V3 = MODELS / "base_v3"
TRAINER_RUN = GOLDEN / "t2t_trainer_run"


def read_bundle(prefix: Path) -> dict[str, Any]:
    """Name → value of everything a checkpoint holds."""
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def write_bundle(prefix: Path, tensors: Mapping[str, Any]) -> Path:
    """A checkpoint of one data file, and the list file beside it."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(tensors),
        shape_and_slices=[""] * len(tensors),
        tensors=[tf.convert_to_tensor(value) for value in tensors.values()],
    )
    (prefix.parent / "checkpoint").write_text(f'model_checkpoint_path: "{prefix.name}"\n')
    return prefix


def copy_run(source: Path, folder: Path) -> Path:
    """A copy that may be written to."""
    shutil.copytree(source, folder)
    for path in folder.iterdir():
        path.chmod(0o644)
    return folder


def changed_copy(folder: Path, rename: Callable[[str], str | None], source: Path = BASE_V3) -> Path:
    """A run whose variables are renamed, or left out where `rename` gives None."""
    copy_run(source, folder)
    prefix = next(folder.glob("*.index")).with_suffix("")
    tensors = read_bundle(prefix)
    for path in folder.glob(prefix.name + ".*"):
        path.unlink()
    kept = {new: value for name, value in tensors.items() if (new := rename(name)) is not None}
    write_bundle(prefix, kept)
    return folder


def without(pattern: str) -> Callable[[str], str | None]:
    """For `changed_copy`: leaves out the variables whose names match."""
    return lambda name: None if re.search(pattern, name) else name
