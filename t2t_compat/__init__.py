"""Tensor2Tensor's files: checkpoints, run directories, vocabularies and data directories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_transformer.model.transformer import Transformer
    from keras_transformer.t2t_compat.run_directory import T2TRunDir


def load_model(checkpoint: str | Path, *args: Any, **kwargs: Any) -> Transformer:
    """The model of a T2T checkpoint; see `loader.load_model`."""
    from keras_transformer.t2t_compat import loader

    return loader.load_model(checkpoint, *args, **kwargs)


def open_run_dir(folder: Path, **options: Any) -> T2TRunDir:
    """A T2T run directory as it is; see `run_directory.open_run_dir`."""
    from keras_transformer.t2t_compat import run_directory

    return run_directory.open_run_dir(folder, **options)
