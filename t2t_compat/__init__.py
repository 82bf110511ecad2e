"""Tensor2Tensor's files: checkpoints, run directories, vocabularies and data directories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_transformer.model.transformer import Transformer


def load_model(checkpoint: str | Path, *args: Any, **kwargs: Any) -> Transformer:
    """The model of a T2T checkpoint; see `loader.load_model`."""
    from keras_transformer.t2t_compat import loader

    return loader.load_model(checkpoint, *args, **kwargs)
