"""The Transformer: ids of a source and of a target in, logits of the target out.

Shapes: B sentences, S source positions, T target positions, d model width, H heads, V vocabulary
entries of the target, K beams, L target positions decoded so far. Ids are int32, 0 is padding.

Names of the weights. `named_weights()` gives every weight under a plain path, the same in every
run, with no prefix; checkpoints, averaging and the loader of T2T's checkpoints use nothing else:

    shared_embedding/weights                            [V, d], source, target and softmax
      or inputs_embedding/weights, targets_embedding/weights, softmax/weights
    target_space_embedding/weights                      [32, d]
    inputs_positional_embedding/weights                 [max_length, d], learned positions only
    targets_positional_embedding/weights
    encoder/layer_<n>/self_attention/query/kernel       [d, a]; also key, value, output
    encoder/layer_<n>/self_attention/query/bias         [a], 2017's checkpoints only
    encoder/layer_<n>/self_attention/layer_norm/scale   [d]; also bias
    encoder/layer_<n>/feed_forward/hidden/kernel        [d, f]; also bias
    encoder/layer_<n>/feed_forward/output/kernel        [f, d]; also bias
    encoder/layer_<n>/feed_forward/layer_norm/scale     [d]; also bias
    encoder/final_layer_norm/scale                      [d]; also bias, pre-norm only
    decoder/…                                           the same, and layer_<n>/cross_attention/…

a is the total width of keys (and of queries) over all heads, f the width inside the feed-forward
layer. A sub-layer that normalises both before and after itself has the second one under
`layer_norm_after`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.errors import UserError
from keras_transformer.layers.dropout import Dropout, drop_symbols, dropout_noise
from keras_transformer.layers.embedding import Embedding, TargetSpaceEmbedding
from keras_transformer.layers.initial_values import weights_to_be_loaded
from keras_transformer.layers.neighbourhood import Neighbourhood
from keras_transformer.layers.position import LearnedPositions, TimingSignal
from keras_transformer.layers.ready_weights import ready_weights
from keras_transformer.model import masks
from keras_transformer.model.decoder import Cache, Decoder
from keras_transformer.model.encoder import Encoder
from keras_transformer.model.sublayers import SublayerSettings

if TYPE_CHECKING:
    from keras_transformer.config import HParams

__all__ = ["POSITIONS", "Transformer", "weights_to_be_loaded"]

POSITIONS = ("timing", "timing_paper", "emb", "timing_from_features", "none")
Features = dict[str, Any]

# There is no Python control flow over tensors here; rewriting the code to look for some takes
# longer than tracing it.
_without_autograph = tf.autograph.experimental.do_not_convert


@keras.saving.register_keras_serializable(package="keras_transformer")
class Transformer(keras.Model):
    """The encoder-decoder of "Attention Is All You Need" with Tensor2Tensor's numbers.

    All weights are made when the model is, under the distribution strategy in force.

    Args:
      source_vocab_size: entries of the source vocabulary.
      target_vocab_size: entries of the target vocabulary. If the two differ, nothing is shared,
        as in T2T.
      hidden_size: d.
      filter_size: width inside the feed-forward layers.
      num_heads: H.
      encoder_layers, decoder_layers: N of each stack.
      key_width, value_width: total widths of keys and of values; 0 means d.
      preprocess, postprocess: steps before and after each sub-layer, see `layers.sublayer`.
      residual_dropout: rate on each sub-layer's output (`d` of the steps) and on the sum of
        embedding and position.
      attention_dropout, relu_dropout: rates on the attention weights and inside the feed-forward
        layer.
      symbol_dropout: share of ids read as padding in training.
      residual_dropout_axes, attention_dropout_axes, relu_dropout_axes: axes that share one
        decision, see `layers.dropout`.
      positions: one of `POSITIONS`: T2T's sines, the paper's, learned, T2T's with positions that
        must be among the features, none.
      max_length: rows of the learned positions.
      shared_embedding_and_softmax_weights: one table for source, target and softmax.
      shared_embedding: one table for source and target, the softmax apart.
      vocab_divisor: tables have their rows rounded up to a multiple of it.
      scale_embedding: whether embeddings are multiplied by sqrt(d).
      use_target_space_embedding: whether a learned vector for the kind of output is added to the
        encoder's input, padding included.
      target_space_id: the one used when the features name none.
      zero_feed_forward_at_padding: whether the encoder's feed-forward output is 0 at padding
        (T2T's `use_pad_remover`; releases before 1.2 had none).
      attention_bias: biases in the attention projections, as before release 1.3.
      neighbourhood: self-attention sees this many positions to each side; 0 means all. Decoding
        keeps no more of them in its cache.
      norm_epsilon: added to the variance in layer normalisation.
      initializer_gain: scale of the initial variance of kernels.

    Raises:
      UserError: a value that is not allowed.
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        *,
        hidden_size: int = 512,
        filter_size: int = 2048,
        num_heads: int = 8,
        encoder_layers: int = 6,
        decoder_layers: int = 6,
        key_width: int = 0,
        value_width: int = 0,
        preprocess: str = "none",
        postprocess: str = "dan",
        residual_dropout: float = 0.1,
        attention_dropout: float = 0.0,
        relu_dropout: float = 0.0,
        symbol_dropout: float = 0.0,
        residual_dropout_axes: tuple[int, ...] = (),
        attention_dropout_axes: tuple[int, ...] = (),
        relu_dropout_axes: tuple[int, ...] = (),
        positions: str = "timing",
        max_length: int = 256,
        shared_embedding_and_softmax_weights: bool = True,
        shared_embedding: bool = False,
        vocab_divisor: int = 1,
        scale_embedding: bool = True,
        use_target_space_embedding: bool = True,
        target_space_id: int = 0,
        zero_feed_forward_at_padding: bool = True,
        attention_bias: bool = False,
        neighbourhood: int = 0,
        norm_epsilon: float = 1e-6,
        initializer_gain: float = 1.0,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("name", "transformer")
        super().__init__(autocast=False, **kwargs)
        if positions not in POSITIONS:
            raise UserError(f"positions is {positions!r}: it must be one of {', '.join(POSITIONS)}")
        if positions == "emb" and max_length < 1:
            raise UserError(
                f"max_length is {max_length}: learned positions need a row for each position, "
                "so give the longest sentence's length"
            )
        self._config = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in locals().items()
            if name not in ("self", "kwargs", "__class__")
        }
        self.source_vocab_size = source_vocab_size
        self.target_vocab_size = target_vocab_size
        self.positions = positions
        self.symbol_dropout = symbol_dropout
        self.target_space_id = target_space_id
        self.zero_feed_forward_at_padding = zero_feed_forward_at_padding
        self.hidden_size = hidden_size
        self.neighbourhood = neighbourhood
        self.source_neighbourhood = Neighbourhood(neighbourhood) if neighbourhood else None
        self.target_neighbourhood = Neighbourhood(neighbourhood, True) if neighbourhood else None

        dtype = self.dtype_policy
        equal_vocabularies = source_vocab_size == target_vocab_size
        self.shares_softmax = equal_vocabularies and shared_embedding_and_softmax_weights
        self.shares_embedding = self.shares_softmax or (equal_vocabularies and shared_embedding)

        def table(vocab_size: int, name: str) -> Embedding:
            rows = -(-vocab_size // vocab_divisor) * vocab_divisor
            return Embedding(rows, hidden_size, scale_embedding, dtype=dtype, name=name)

        if self.shares_embedding:
            self.shared_embedding = table(source_vocab_size, "shared_embedding")
        else:
            self.inputs_embedding = table(source_vocab_size, "inputs_embedding")
            self.targets_embedding = table(target_vocab_size, "targets_embedding")
        if not self.shares_softmax:
            self.softmax = table(target_vocab_size, "softmax")
        self.target_space_embedding: TargetSpaceEmbedding | None = None
        if use_target_space_embedding:
            self.target_space_embedding = TargetSpaceEmbedding(
                hidden_size,
                initializer_gain=initializer_gain,
                dtype=dtype,
                name="target_space_embedding",
            )
        if positions == "emb":
            self.inputs_positions = LearnedPositions(
                max_length, initializer_gain, dtype=dtype, name="inputs_positional_embedding"
            )
            self.targets_positions = LearnedPositions(
                max_length, initializer_gain, dtype=dtype, name="targets_positional_embedding"
            )
        elif positions != "none":
            paper = positions == "timing_paper"
            self.inputs_positions = TimingSignal(paper, dtype=dtype, name="inputs_timing")
            self.targets_positions = TimingSignal(paper, dtype=dtype, name="targets_timing")

        settings = SublayerSettings(
            hidden_size=hidden_size,
            filter_size=filter_size,
            num_heads=num_heads,
            key_width=key_width or hidden_size,
            value_width=value_width or hidden_size,
            preprocess=preprocess,
            postprocess=postprocess,
            residual_dropout=residual_dropout,
            residual_dropout_axes=tuple(residual_dropout_axes),
            attention_dropout=attention_dropout,
            attention_dropout_axes=tuple(attention_dropout_axes),
            relu_dropout=relu_dropout,
            relu_dropout_axes=tuple(relu_dropout_axes),
            attention_bias=attention_bias,
            neighbourhood=neighbourhood,
            norm_epsilon=norm_epsilon,
            initializer_gain=initializer_gain,
        )
        self.encoder = Encoder(encoder_layers, settings, dtype=dtype, name="encoder")
        self.decoder = Decoder(decoder_layers, settings, dtype=dtype, name="decoder")
        self.input_dropout = Dropout(residual_dropout, dtype=dtype, name="input_dropout")
        self._decode_functions: dict[Any, Callable[..., Any]] = {}
        self.build()

    @classmethod
    def from_hparams(
        cls,
        hp: HParams,
        source_vocab_size: int,
        target_vocab_size: int,
        target_space_id: int = 0,
        **kwargs: Any,
    ) -> Transformer:
        """The model that the settings `hp` describe.

        Args:
          hp: the settings. Activations in bfloat16 or float16 make the model's dtype policy
            mixed_bfloat16 or mixed_float16; float32 leaves it to Keras's global one.
          source_vocab_size, target_vocab_size: entries of the vocabularies.
          target_space_id: the kind of output, see the class.
          **kwargs: `name`, `dtype`, for Keras.
        """
        activations = "float16" if hp.gpu_automatic_mixed_precision else hp.activation_dtype
        if activations != "float32":
            kwargs.setdefault("dtype", f"mixed_{activations}")
        return cls(
            source_vocab_size,
            target_vocab_size,
            hidden_size=hp.hidden_size,
            filter_size=hp.filter_size,
            num_heads=hp.num_heads,
            encoder_layers=hp.encoder_layers,
            decoder_layers=hp.decoder_layers,
            key_width=hp.attention_key_channels,
            value_width=hp.attention_value_channels,
            preprocess=hp.layer_preprocess_sequence,
            postprocess=hp.layer_postprocess_sequence,
            residual_dropout=hp.layer_prepostprocess_dropout,
            attention_dropout=hp.attention_dropout,
            relu_dropout=hp.relu_dropout,
            symbol_dropout=hp.symbol_dropout,
            residual_dropout_axes=hp.broadcast_axes("layer_prepostprocess_dropout_broadcast_dims"),
            attention_dropout_axes=hp.broadcast_axes("attention_dropout_broadcast_dims"),
            relu_dropout_axes=hp.broadcast_axes("relu_dropout_broadcast_dims"),
            positions=hp.pos,
            max_length=hp.max_length,
            shared_embedding_and_softmax_weights=hp.shared_embedding_and_softmax_weights,
            shared_embedding=hp.shared_embedding,
            vocab_divisor=hp.vocab_divisor,
            scale_embedding=hp.multiply_embedding_mode == "sqrt_depth",
            use_target_space_embedding=hp.use_target_space_embedding,
            target_space_id=target_space_id,
            zero_feed_forward_at_padding=hp.use_pad_remover,
            attention_bias=hp.attention_bias,
            neighbourhood=hp.self_attention_neighbourhood,
            norm_epsilon=hp.norm_epsilon,
            initializer_gain=hp.initializer_gain,
            **kwargs,
        )

    def build(self, input_shape: Any = None) -> None:
        if self.built:
            return
        for name in ("shared_embedding", "inputs_embedding", "targets_embedding", "softmax"):
            if hasattr(self, name):
                getattr(self, name).build()
        if self.target_space_embedding is not None:
            self.target_space_embedding.build()
        width = (None, None, self.hidden_size)
        if self.positions == "emb":
            self.inputs_positions.build(width)
            self.targets_positions.build(width)
        self.encoder.build(width)
        self.decoder.build(width)

    def named_weights(self) -> dict[str, keras.Variable]:
        """Every weight by its path, as the module's docstring lists them."""
        prefix = f"{self.path}/"
        return {variable.path.removeprefix(prefix): variable for variable in self.weights}

    # Training and scoring

    @_without_autograph
    def __call__(self, inputs: Features, *args: Any, **kwargs: Any) -> Any:
        tensors = {name: _as_tensor(value) for name, value in inputs.items()}
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

    @_without_autograph
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
        features = {"inputs": _as_tensor(inputs)}
        if target_space_id is not None:
            features["target_space_id"] = _as_tensor(target_space_id)
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

    # Decoding

    @_without_autograph
    def start_decoding(self, inputs: Any, target_space_id: Any = None) -> Cache:
        """Runs the encoder once and prepares what `decode_step` needs.

        Args:
          inputs: int [B, S].
          target_space_id: int, one or [B]; None for the model's own.

        Returns:
          {"memory": keys and values of the source for each decoder layer, [B, H, S, …], and the
          bias that hides its padding, [B, 1, 1, S]; never repeated for the beams.
          "self": keys and values of the target so far, [B, 1, H, 0, …]: no position yet, and one
          beam, which `decode_step` takes for any number of them.}
        """
        features = {"inputs": _as_tensor(inputs)}
        if target_space_id is not None:
            features["target_space_id"] = _as_tensor(target_space_id)
        memory, memory_bias, _ = self._encode(features, training=False)
        return self.decoder.start(memory, memory_bias)

    @_without_autograph
    def decode_step(self, ids: tf.Tensor, step: tf.Tensor, cache: Cache) -> tuple[tf.Tensor, Cache]:
        """Logits of position `step` of each beam, given the ids before it.

        Args:
          ids: int32 [B, K], the symbol at position step - 1; 0 at step 0.
          step: int32 scalar, from 0.
          cache: of the steps before; beams are reordered along axis 1 of all in "self".

        Returns:
          float32 [B, K, V], and the cache with one position more in "self".
        """
        x = self._embedding("targets")(ids)
        if self.positions != "none":
            x = self.targets_positions(x, positions=tf.reshape(step, [1]))
        if self.neighbourhood:
            near = tf.nest.map_structure(
                lambda past: past[:, :, :, -self.neighbourhood :], cache["self"]
            )
            cache = {**cache, "self": near}
        x, cache = self.decoder.step(x, cache)
        return self._softmax().logits(x), cache

    @_without_autograph
    def step_weights(self) -> dict[str, tf.Tensor]:
        """The weights of `decode_step`, cast and laid out for it as they are now."""
        return {**self.decoder.step_weights(), **self._softmax().step_weights()}

    @_without_autograph
    def step_function(
        self, weights: dict[str, tf.Tensor] | None = None
    ) -> Callable[..., tuple[tf.Tensor, Cache]]:
        """`decode_step` with its weights made ready once, not at every step.

        To be made outside the decoding loop, in the function that holds it: a fifth of the time
        of decoding one sentence in float32, a third in bfloat16.

        Args:
          weights: what `step_weights` gave before, for a model that does not change; None makes
            them anew whenever that function is run.
        """
        weights = self.step_weights() if weights is None else weights

        def step_fn(ids: tf.Tensor, step: tf.Tensor, cache: Cache) -> tuple[tf.Tensor, Cache]:
            with ready_weights(weights):
                return self.decode_step(ids, step, cache)

        return step_fn

    def decode(
        self,
        inputs: Any,
        beam_size: int = 4,
        alpha: float = 0.6,
        decode_length: Any = 60,
        top_beams: int | None = None,
        target_space_id: Any = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The best targets of each source by beam search, or the greedy one.

        Args:
          inputs: int [B, S].
          beam_size: K; 1 takes T2T's greedy path (argmax, alpha unused).
          alpha: strength of the length penalty.
          decode_length: the most steps, in subtokens, one number or int [B].
          top_beams: how many to return for each sentence, at most `beam_size`; all of them if
            None. The search may stop sooner when it is 1.
          target_space_id: int, one or [B]; None for the model's own.

        Returns:
          ids int32 [B, top_beams, L], zeros after the end of sentence (1), best first, and
          scores float32 [B, top_beams].
        """
        top_beams = beam_size if top_beams is None else top_beams
        key = (beam_size, top_beams)
        if key not in self._decode_functions:
            self._decode_functions[key] = tf.function(
                functools.partial(self._decode, beam_size=beam_size, top_beams=top_beams),
                autograph=False,
                reduce_retracing=True,
            )
        inputs = tf.cast(_as_tensor(inputs), tf.int32)
        if inputs.shape.rank != 2:
            raise UserError(
                f"inputs has the shape {tuple(inputs.shape)}: it must be [sentences, positions]"
            )
        batch = tf.shape(inputs)[0]
        space = self.target_space_id if target_space_id is None else target_space_id
        return self._decode_functions[key](
            inputs,
            tf.broadcast_to(tf.cast(space, tf.int32), [batch]),
            tf.broadcast_to(tf.cast(decode_length, tf.int32), [batch]),
            tf.constant(alpha, tf.float32),
        )

    def _decode(
        self,
        inputs: tf.Tensor,
        target_space_id: tf.Tensor,
        decode_length: tf.Tensor,
        alpha: tf.Tensor,
        beam_size: int,
        top_beams: int,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        # Decoding is written against this class's interface, so it is not imported with it.
        from keras_transformer.decoding import beam_search, sampling

        cache = self.start_decoding(inputs, target_space_id)
        step, batch = self.step_function(), tf.shape(inputs)[0]
        if beam_size == 1:
            return sampling.greedy(step, cache, batch, decode_length)
        return beam_search.beam_search(
            step, cache, batch, beam_size, alpha, decode_length, top_beams
        )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._config}


def _as_tensor(value: Any) -> Any:
    """Arrays, lists and numbers as tensors; what is a tensor, symbolic or not, as it is."""
    if isinstance(value, (np.ndarray, list, tuple, int, np.integer)):
        return tf.convert_to_tensor(np.asarray(value))
    return value
