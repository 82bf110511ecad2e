"""The whole target at once: logits of every position, as training and scoring want them.

Shapes: B sentences, S source positions, T target positions, d model width, H heads, V vocabulary
entries of the target. Ids are int32, 0 is padding.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.errors import UserError
from keras_transformer.layers.dropout import Dropout, drop_symbols, dropout_noise
from keras_transformer.layers.embedding import Embedding, TargetSpaceEmbedding
from keras_transformer.layers.neighbourhood import Neighbourhood
from keras_transformer.layers.position import LearnedPositions, TimingSignal
from keras_transformer.model import masks
from keras_transformer.model.decoder import Decoder
from keras_transformer.model.encoder import Encoder

Features = dict[str, Any]

# There is no Python control flow over tensors in the model; rewriting the code to look for some
# takes longer than tracing it.
without_autograph = tf.autograph.experimental.do_not_convert


class ForwardPass(keras.Model):
    """Encoder and decoder over whole sequences. `Transformer` makes the parts that stand here."""

    encoder: Encoder
    decoder: Decoder
    input_dropout: Dropout
    # Tables of ids: the first alone, or the two after it; the softmax's own if it shares none.
    shared_embedding: Embedding
    inputs_embedding: Embedding
    targets_embedding: Embedding
    softmax: Embedding
    shares_embedding: bool
    shares_softmax: bool
    target_space_embedding: TargetSpaceEmbedding | None
    target_space_id: int
    # Kind of the position signal; the two layers are there unless it is "none".
    positions: str
    inputs_positions: LearnedPositions | TimingSignal
    targets_positions: LearnedPositions | TimingSignal
    # What restricted self-attention sees on each side; None for all.
    source_neighbourhood: Neighbourhood | None
    target_neighbourhood: Neighbourhood | None
    symbol_dropout: float
    zero_feed_forward_at_padding: bool

    @without_autograph
    def __call__(self, inputs: Features, *args: Any, **kwargs: Any) -> Any:
        tensors = {name: as_tensor(value) for name, value in inputs.items()}
        return super().__call__(tensors, *args, **kwargs)

    def call(
        self,
        inputs: Features,
        training: bool | None = None,
        return_attention: bool = False,
        return_states: bool = False,
    ) -> Any:
        """Logits of every target position, given the source and the positions before it.

        Args:
          inputs: the features:
            inputs: int [B, S], the source.
            targets: int [B, T], the target, not shifted.
            target_space_id: int, one or [B]; optional.
            inputs_segmentation, inputs_position, targets_segmentation, targets_position: int
              [B, S] and [B, T], all four if several sentences are packed in a row: the number of
              each position's sentence (0 at padding) and the position within it.
            dropout_seed: int [2]; optional. Noise in training is a function of it alone.
          training: whether dropout is applied.
          return_attention: whether the attention weights are returned too.
          return_states: whether the decoder's output, [B, T, d] in the compute dtype, is returned
            in place of the logits, which are its product with `softmax_table`.

        Returns:
          float32 [B, T, V], V rounded up to a multiple of `vocab_divisor`. With
          `return_attention` also a dictionary `encoder/layer_0/self_attention` …,
          `decoder/layer_0/cross_attention` … of float32 [B, H, positions, positions looked at].
        """
        seed = inputs.get("dropout_seed") if training else None
        with dropout_noise(seed):
            memory, memory_bias, weights = self._encode(inputs, training)
            targets = self._ids(inputs["targets"], "targets", training)
            x = self._embedding("targets")(targets)
            x = tf.pad(x, [[0, 0], [1, 0], [0, 0]])[:, :-1]
            x = self._add_positions("targets", x, inputs.get("targets_position"))
            near = self.target_neighbourhood
            if near:
                bias = masks.neighbourhood_bias(near, targets)
            else:
                bias = masks.causal_bias(tf.shape(targets)[1])
            if "targets_segmentation" in inputs:
                segments = inputs["targets_segmentation"]
                bias += masks.own_sentence_bias(segments, near)
                memory_bias = masks.segment_bias(segments, inputs["inputs_segmentation"])
            x, decoder_weights = self.decoder(
                self.input_dropout(x, training=training),
                memory=memory,
                bias=bias,
                memory_bias=memory_bias,
                training=training,
            )
            logits = x if return_states else self._softmax().logits(x)
        if return_attention:
            weights.update({f"decoder/{name}": each for name, each in decoder_weights.items()})
            return logits, self._square(weights, inputs)
        return logits

    @without_autograph
    def encode(
        self,
        inputs: Any,
        target_space_id: Any = None,
        training: bool = False,
        return_attention: bool = False,
    ) -> Any:
        """The encoder's output for a source, int [B, S]: [B, S, d] in the compute dtype.

        With `return_attention` also the encoder's attention weights, as `call` gives them.
        """
        features = {"inputs": as_tensor(inputs)}
        if target_space_id is not None:
            features["target_space_id"] = as_tensor(target_space_id)
        memory, _, weights = self._encode(features, training)
        return (memory, self._square(weights, features)) if return_attention else memory

    def _encode(
        self, features: Features, training: bool | None
    ) -> tuple[tf.Tensor, tf.Tensor, dict[str, tf.Tensor]]:
        """The encoder's output, the bias that hides its padding, its attention weights."""
        inputs = self._ids(features["inputs"], "inputs", training)
        x = self._embedding("inputs")(inputs)
        if self.target_space_embedding is not None:
            space = features.get("target_space_id", tf.constant(self.target_space_id))
            x += self.target_space_embedding(space)
        x = self._add_positions("inputs", x, features.get("inputs_position"))
        near = self.source_neighbourhood
        memory_bias = masks.padding_bias(inputs)
        bias = masks.padding_bias(near.windows(inputs)) if near else memory_bias
        keep = tf.not_equal(inputs, 0)
        if "inputs_segmentation" in features:
            segments = features["inputs_segmentation"]
            bias = masks.own_sentence_bias(segments, near)
            keep = tf.not_equal(segments, 0)
        if near:
            bias += masks.neighbourhood_bias(near, inputs)
        memory, weights = self.encoder(
            self.input_dropout(x, training=training),
            bias=bias,
            keep=keep if self.zero_feed_forward_at_padding else None,
            training=training,
        )
        return memory, memory_bias, {f"encoder/{name}": each for name, each in weights.items()}

    def _square(self, weights: dict[str, tf.Tensor], inputs: Features) -> dict[str, tf.Tensor]:
        """Attention weights over whole sequences; restricted self-attention has them in blocks."""
        for side, near in (
            ("encoder", self.source_neighbourhood),
            ("decoder", self.target_neighbourhood),
        ):
            for name in weights:
                if near and name.startswith(side) and name.endswith("/self_attention"):
                    ids = inputs["inputs" if side == "encoder" else "targets"]
                    weights[name] = near.square(weights[name], tf.shape(ids)[1])
        return weights

    def _ids(self, ids: Any, name: str, training: bool | None) -> tf.Tensor:
        if ids.shape.rank is not None and ids.shape.rank != 2:
            raise UserError(
                f"{name} has the shape {tuple(ids.shape)}: it must be [sentences, positions]"
            )
        ids = tf.cast(ids, tf.int32)
        if training and self.symbol_dropout:
            ids = drop_symbols(ids, self.symbol_dropout)
        return ids

    def _add_positions(self, side: str, x: tf.Tensor, positions: tf.Tensor | None) -> tf.Tensor:
        if self.positions == "none":
            return x
        if positions is None and self.positions == "timing_from_features":
            raise UserError(
                f"pos is timing_from_features, and the batch has no {side}_position: "
                "use packed data, or pos=timing"
            )
        add = self.inputs_positions if side == "inputs" else self.targets_positions
        return add(x, positions=positions)

    def _embedding(self, side: str) -> Embedding:
        if self.shares_embedding:
            return self.shared_embedding
        return self.inputs_embedding if side == "inputs" else self.targets_embedding

    @property
    def softmax_table(self) -> keras.Variable:
        """The table that makes the logits, [V, d]."""
        return self._softmax().table

    def _softmax(self) -> Embedding:
        return self.shared_embedding if self.shares_softmax else self.softmax


def as_tensor(value: Any) -> Any:
    """Arrays, lists and numbers as tensors; what is a tensor, symbolic or not, as it is."""
    if isinstance(value, (np.ndarray, list, tuple, int, np.integer)):
        return tf.convert_to_tensor(np.asarray(value))
    return value
