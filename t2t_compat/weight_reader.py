"""A T2T checkpoint read under this project's names, as `training.checkpoints.Reader` reads ours."""

from __future__ import annotations

import os

import numpy as np

from keras_transformer.t2t_compat.checkpoint_files import CheckpointReader
from keras_transformer.t2t_compat.layout import detect_layout
from keras_transformer.t2t_compat.report import shape_of
from keras_transformer.t2t_compat.weights import weight_sources


class T2TWeights:
    """The weights of a T2T checkpoint by our names; nothing else of it.

    Attributes:
        prefix: path of the checkpoint.

    Raises:
        UserError: the checkpoint cannot be read, or is no T2T Transformer.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._reader = CheckpointReader(os.fspath(path))
        self.prefix = str(self._reader.prefix)
        layout = detect_layout(self._reader.shapes, self.prefix)
        self._sources = {
            name: source
            for name, source in weight_sources(layout).items()
            if all(part in self._reader for part in source.names)
        }

    def names(self) -> list[str]:
        """Names of all weights, sorted."""
        return sorted(self._sources)

    def __contains__(self, name: str) -> bool:
        return name in self._sources

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a weight, without reading it."""
        return shape_of(self._sources[name], self._reader.shapes)

    def tensor(self, name: str) -> np.ndarray:
        """One weight."""
        return self._sources[name].read(self._reader.tensor)
