"""Tensor2Tensor's files: checkpoints, run directories, vocabularies and data directories.

What the engine needs of them, each found in the module of its subject when it is called.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_transformer.model.transformer import Transformer
    from keras_transformer.run_dir import RunDir
    from keras_transformer.t2t_compat.run_directory import T2TRunDir
    from keras_transformer.t2t_compat.weight_reader import T2TWeights


def load_model(checkpoint: str | Path, *args: Any, **kwargs: Any) -> Transformer:
    """The model of a T2T checkpoint; see `loader.load_model`."""
    from keras_transformer.t2t_compat import loader

    return loader.load_model(checkpoint, *args, **kwargs)


def open_run_dir(folder: Path, **options: Any) -> T2TRunDir:
    """A T2T run directory as it is; see `run_directory.open_run_dir`."""
    from keras_transformer.t2t_compat import run_directory

    return run_directory.open_run_dir(folder, **options)


def adopt(run: T2TRunDir, **options: Any) -> RunDir:
    """A T2T run directory made ours in place, to train on in it; see `adoption.adopt`."""
    from keras_transformer.t2t_compat import adoption

    return adoption.adopt(run, **options)


def finish_adoption(folder: Path) -> None:
    """What a killed `adopt` has left to do, if anything; see `adoption.finish`."""
    from keras_transformer.t2t_compat import adoption

    adoption.finish(folder)


def named_weights(checkpoint: str | os.PathLike[str]) -> T2TWeights:
    """The weights of a T2T checkpoint by our names; see `weight_reader.T2TWeights`."""
    from keras_transformer.t2t_compat.weight_reader import T2TWeights

    return T2TWeights(checkpoint)
