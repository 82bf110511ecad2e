"""The Transformer: ids of a source and of a target in, logits of the target out.

Here it is put together from settings. What it computes of whole sequences stands in
`forward_pass`, what decoding asks of it, a step at a time, in `incremental_decoding`.

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

d is the width of the model, V the size of a vocabulary, a the total width of keys (and of queries)
over all heads, f the width inside the feed-forward layer. A sub-layer that normalises both before
and after itself has the second one under `layer_norm_after`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras

from keras_transformer.errors import UserError
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.embedding import Embedding, TargetSpaceEmbedding
from keras_transformer.layers.initial_values import weights_to_be_loaded
from keras_transformer.layers.neighbourhood import Neighbourhood
from keras_transformer.layers.position import LearnedPositions, TimingSignal
from keras_transformer.model.decoder import Decoder
from keras_transformer.model.encoder import Encoder
from keras_transformer.model.incremental_decoding import IncrementalDecoding
from keras_transformer.model.sublayers import SublayerSettings

if TYPE_CHECKING:
    from keras_transformer.config import HParams

__all__ = ["POSITIONS", "Transformer", "weights_to_be_loaded"]

POSITIONS = ("timing", "timing_paper", "emb", "timing_from_features", "none")


@keras.saving.register_keras_serializable(package="keras_transformer")
class Transformer(IncrementalDecoding):
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

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._config}
