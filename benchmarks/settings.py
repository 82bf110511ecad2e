"""How much work the measures do, and where the peers are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import REPOSITORY

if TYPE_CHECKING:
    from keras_transformer.config import HParams


@dataclass(frozen=True)
class Settings:
    """The sizes of the measures; the defaults are those of the published figures.

    Attributes:
        hparams: named set of the model. The default has dropout in attention and feed-forward
            layers too, and layer norm before each sub-layer, as OpenNMT-tf.
        vocab_size: entries of the one vocabulary of both sides.
        sentences: of a training batch.
        longest: positions of its longest sentence; the shortest has 0.8 of them, as in a length
            bucket.
        beam_size: hypotheses of a search.
        decode_length: subtokens of inputs and outputs in decoding.
        decode_batches: sentences decoded at once.
        text: what is encoded.
        lines: how many of its lines.
        subword_vocab_size: wanted size of the vocabulary learned from it.
        layer_sizes: (positions, width) at which layer types are compared.
        dtypes: types of activations that are measured.
        peers_dir: where `peers.sh` has put its environments.
    """

    hparams: str = "transformer_base"
    vocab_size: int = 32000
    sentences: int = 36
    longest: int = 32
    beam_size: int = 4
    decode_length: int = 25
    decode_batches: tuple[int, ...] = (1, 8, 32)
    text: Path = REPOSITORY / "problems/data/libreoffice-help.train.en.gz"
    lines: int = 50_000
    subword_vocab_size: int = 8192
    layer_sizes: tuple[tuple[int, int], ...] = ((256, 512), (1024, 512), (4096, 512))
    dtypes: tuple[str, ...] = ("float32", "bfloat16")
    peers_dir: Path = REPOSITORY / ".cache/peers"

    def peer(self, name: str) -> str | None:
        """The interpreter of a peer's environment, or None if it is not installed."""
        python = self.peers_dir / name / "bin/python"
        return str(python) if python.exists() else None

    def settings_of_model(self) -> HParams:
        import keras_transformer as kt

        return kt.hparams(self.hparams)

    def parameters(self) -> int:
        """Numbers in the model."""
        from keras_transformer.model.parameter_count import parameter_shapes

        shapes = parameter_shapes(self.settings_of_model(), self.vocab_size)
        return sum(math.prod(shape) for _, shape in shapes)


QUICK = Settings(
    hparams="tiny",
    vocab_size=1000,
    sentences=8,
    longest=16,
    decode_length=6,
    decode_batches=(1, 8),
    lines=500,
    subword_vocab_size=500,
    layer_sizes=((32, 16), (96, 16)),
    dtypes=("float32",),  # starting TensorFlow is most of the time
)
