"""Settings: every hyperparameter of a run, typed, checked when made, under T2T's names.

`HParams()` is the paper's base model as Tensor2Tensor 1.15.7's `transformer_base_v1` has it; a
field's source is that set unless it says otherwise. Named sets are functions in `hparams/`, each
stating only what differs from its parent.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from keras_transformer.config_checks import check_bounds, check_together, parse_axes
from keras_transformer.config_ignorable import IGNORABLE, RUN_KEYS, is_usual
from keras_transformer.config_parsing import check_type, nearest, parse_value, split_overrides
from keras_transformer.errors import UserError

_T2T = "T2T transformer_base_v1"
_OWN = "this project"


def _setting(
    default: Any,
    meaning: str,
    source: str = _T2T,
    *,
    at_least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: tuple[Any, ...] = (),
) -> Any:
    """A field with its meaning (and unit), the source of its default, and its bounds."""
    rules = {"at_least": at_least, "above": above, "below": below, "choices": choices}
    return dataclasses.field(
        default=default, metadata={"meaning": meaning, "source": source, **rules}
    )


def _rate(default: float, meaning: str, source: str = _T2T) -> Any:
    return _setting(default, meaning, source, at_least=0.0, below=1.0)


def _count(default: int, meaning: str, source: str = _T2T, at_least: int = 0) -> Any:
    return _setting(default, meaning, source, at_least=at_least)


def _axes(meaning: str) -> Any:
    return _setting("", f"{meaning}: axes with commas between, as in 0,1; empty: no sharing")


@dataclasses.dataclass(frozen=True)
class HParams:
    """The hyperparameters of one run.

    Instances are immutable: `replace` and `override` give new, checked ones. Lengths are in
    subtokens with the end-of-sentence mark counted, steps are updates of the weights.

    Raises:
      UserError: a value of another type than declared, out of its range, or at odds with another.
    """

    # Shape
    num_hidden_layers: int = _count(6, "layers of encoder and of decoder (N)", "paper 3.1", 1)
    num_encoder_layers: int = _count(0, "layers of the encoder; 0: num_hidden_layers")
    num_decoder_layers: int = _count(0, "layers of the decoder; 0: num_hidden_layers")
    hidden_size: int = _count(512, "width of every layer's output (d_model)", "paper 3.1", 1)
    filter_size: int = _count(2048, "width inside the feed-forward layer (d_ff)", "paper 3.3", 1)
    num_heads: int = _count(8, "attention heads (h)", "paper 3.2.2", 1)
    attention_key_channels: int = _count(
        0, "total width of queries and of keys over all heads; 0: hidden_size"
    )
    attention_value_channels: int = _count(
        0, "total width of values over all heads; 0: hidden_size"
    )
    attention_bias: bool = _setting(
        False, "biases in the attention projections, as in checkpoints of 2017", _OWN
    )
    self_attention_neighbourhood: int = _count(
        0, "self-attention sees this many positions to each side (r); 0: all", "paper 4, Table 1"
    )
    self_attention_type: str = _setting(
        "dot_product", "kind of self-attention", choices=("dot_product",)
    )
    max_relative_position: int = _setting(
        0, "clip distance of relative attention; 0: off", choices=(0,)
    )
    attention_variables_3d: bool = _setting(
        False, "projections stored as [in, heads, depth]", choices=(False,)
    )
    ffn_layer: str = _setting(
        "dense_relu_dense",
        "feed-forward layer; conv_hidden_relu is its older name",
        choices=("dense_relu_dense", "conv_hidden_relu"),
    )
    use_pad_remover: bool = _setting(
        True, "encoder feed-forward only on real tokens, its output at padding 0"
    )
    prepend_mode: str = _setting("none", "source put before target", choices=("none",))

    # Normalisation and residuals
    layer_preprocess_sequence: str = _setting(
        "none", "before each sub-layer: n normalise, d dropout, or none", "paper 3.1: post-norm"
    )
    layer_postprocess_sequence: str = _setting(
        "dan", "after each sub-layer: d dropout, a add the residual, n normalise", "paper 3.1, 5.4"
    )
    norm_type: str = _setting("layer", "kind of normalisation", choices=("layer",))
    norm_epsilon: float = _setting(1e-6, "added to the variance inside the root", above=0.0)

    # Embedding and positions
    shared_embedding_and_softmax_weights: bool = _setting(
        True, "one matrix for source, target and softmax if both vocabularies agree", "paper 3.4"
    )
    shared_embedding: bool = _setting(False, "one embedding for both sides, softmax apart")
    multiply_embedding_mode: str = _setting(
        "sqrt_depth",
        "sqrt_depth: embeddings times the root of hidden_size",
        "paper 3.4",
        choices=("sqrt_depth", "none"),
    )
    symbol_modality_num_shards: int = _count(
        16, "row blocks an embedding table is stored in by T2T", at_least=1
    )
    vocab_divisor: int = _count(1, "vocabulary size is rounded up to a multiple of it", at_least=1)
    use_target_space_embedding: bool = _setting(
        True, "a learned vector, chosen by the target space id, added to encoder inputs"
    )
    pos: str = _setting(
        "timing",
        "position signal: timing (T2T's), timing_paper (the paper's formula), emb (learned, "
        "max_length rows), timing_from_features (packed data), none",
        choices=("timing", "timing_paper", "emb", "timing_from_features", "none"),
    )

    # Initial weights
    initializer: str = _setting(
        "uniform_unit_scaling",
        "dense weights: uniform, variance scaled by the mean of fan-in and fan-out",
        choices=("uniform_unit_scaling",),
    )
    initializer_gain: float = _setting(1.0, "scale of that variance", above=0.0)

    # Regularisation, in training only
    layer_prepostprocess_dropout: float = _rate(
        0.1, "residual dropout, also on the sum of embedding and position signal", "paper 5.4"
    )
    layer_prepostprocess_dropout_broadcast_dims: str = _axes("axes sharing the residual keep mask")
    attention_dropout: float = _rate(0.0, "dropout on attention weights after the softmax")
    attention_dropout_broadcast_dims: str = _axes("axes sharing the attention keep mask")
    relu_dropout: float = _rate(0.0, "dropout inside the feed-forward layer, after the ReLU")
    relu_dropout_broadcast_dims: str = _axes("axes sharing the feed-forward keep mask")
    symbol_dropout: float = _rate(0.0, "share of input ids replaced by 0")
    label_smoothing: float = _rate(0.1, "mass moved off the gold label", "paper 5.4")
    weight_decay: float = _setting(0.0, "factor of the L2 loss on weights; 0: off", at_least=0.0)

    # Optimizer and learning rate
    optimizer: str = _setting(
        "adam",
        "update rule",
        "paper 5.3",
        choices=("adam", "true_adam", "adam_w", "multistep_adam", "adafactor", "momentum"),
    )
    optimizer_adam_beta1: float = _rate(0.9, "decay of Adam's first moment", "paper 5.3")
    optimizer_adam_beta2: float = _rate(0.98, "decay of Adam's second moment", "paper 5.3")
    optimizer_adam_epsilon: float = _setting(
        1e-9, "added to the root of Adam's second moment", "paper 5.3", above=0.0
    )
    optimizer_multistep_accumulate_steps: int = _count(
        0, "micro-steps whose gradients make one update of multistep_adam; 0: off"
    )
    optimizer_momentum_momentum: float = _rate(0.9, "momentum of the momentum optimizer")
    optimizer_momentum_nesterov: bool = _setting(False, "Nesterov's form of momentum")
    optimizer_adafactor_beta1: float = _rate(0.0, "Adafactor: decay of the first moment; 0: none")
    optimizer_adafactor_beta2: float = _rate(0.999, "Adafactor: decay when decay_type is adam")
    optimizer_adafactor_clipping_threshold: float = _setting(
        1.0, "Adafactor: bound of an update's root mean square; 0: none", at_least=0.0
    )
    optimizer_adafactor_decay_type: str = _setting(
        "pow", "Adafactor: decay of the second moment", choices=("pow", "adam")
    )
    optimizer_adafactor_factored: bool = _setting(True, "Adafactor: rows and columns kept apart")
    optimizer_adafactor_memory_exponent: float = _setting(
        0.8, "Adafactor: exponent of the pow decay", above=0.0
    )
    optimizer_adafactor_multiply_by_parameter_scale: bool = _setting(
        True, "Adafactor: step times the parameter's root mean square"
    )
    clip_grad_norm: float = _setting(0.0, "bound of the global gradient norm; 0: off", at_least=0.0)
    learning_rate_schedule: str = _setting(
        "legacy",
        "factors with * between, or legacy: learning_rate times learning_rate_decay_scheme",
    )
    learning_rate: float = _setting(
        0.1, "factor of the legacy schedule; 0.1 is the paper's formula", "paper 5.3", at_least=0.0
    )
    learning_rate_constant: float = _setting(
        1.0, "the factor constant; 10 times learning_rate for the same rate", at_least=0.0
    )
    learning_rate_warmup_steps: int = _count(
        4000, "warm-up in updates (warmup_steps)", "paper 5.3", at_least=1
    )
    learning_rate_decay_scheme: str = _setting(
        "noam", "decay of the legacy schedule", choices=("noam", "none")
    )
    learning_rate_decay_steps: int = _count(
        5000, "updates of the linear, cosine and exponential decays", at_least=1
    )
    learning_rate_decay_rate: float = _setting(
        1.0, "factor of exp_decay per learning_rate_decay_steps", above=0.0
    )
    learning_rate_decay_staircase: bool = _setting(False, "exp_decay in whole steps")
    learning_rate_cosine_cycle_steps: int = _count(
        250000, "updates of one cycle of multi_cycle_cos_decay", at_least=1
    )
    learning_rate_minimum: float | None = _setting(
        None, "lower bound of the learning rate; None: no bound", at_least=0.0
    )

    # Batches and lengths
    batch_size: int = _count(
        4096, "padded positions per replica on the longer side", "T2T; paper 5.1", at_least=1
    )
    use_fixed_batch_size: bool = _setting(False, "batch_size counts sentences, not positions")
    max_length: int = _count(256, "training drops a pair with a longer side; 0: batch_size")
    min_length: int = _count(0, "drops a pair whose longer side is shorter")
    eval_drop_long_sequences: bool = _setting(False, "max_length in evaluation too")
    max_input_seq_length: int = _count(0, "sources are cut to it; 0: never")
    max_target_seq_length: int = _count(0, "targets are cut to it; 0: never")
    split_to_length: int = _setting(0, "sequences chopped to it; 0: never", choices=(0,))
    pack_dataset: bool = _setting(
        False, "packing on the fly; use a _packed problem instead", choices=(False,)
    )
    min_length_bucket: int = _count(8, "first length bucket's boundary", at_least=1)
    length_bucket_step: float = _setting(1.1, "growth of bucket boundaries", above=1.0)
    batch_shuffle_size: int = _count(512, "buffer, in batches, of the shuffle after batching")

    # Precision
    activation_dtype: str = _setting(
        "float32", "type of activations", choices=("float32", "bfloat16", "float16")
    )
    weight_dtype: str = _setting("float32", "type of weights", choices=("float32",))
    gpu_automatic_mixed_precision: bool = _setting(False, "float16 activations with loss scaling")
    mixed_precision_optimizer_loss_scaler: str = _setting(
        "exponential", "loss scaling of float16 activations", choices=("exponential",)
    )
    mixed_precision_optimizer_init_loss_scale: int = _count(32768, "first loss scale", at_least=1)

    # Sampling in place of the most likely token; only where no beam is searched
    sampling_method: str = _setting(
        "argmax", "choice of a token", choices=("argmax", "random", "random_per_example")
    )
    sampling_temp: float = _setting(1.0, "temperature of sampling", at_least=0.0)
    sampling_keep_top_k: int = _setting(
        -1, "sampling among the k most likely; -1: all", at_least=-1
    )

    # Where each value that is not a default comes from; not a hyperparameter.
    sources: tuple[tuple[str, str], ...] = dataclasses.field(
        default=(), compare=False, repr=False, metadata={"hyperparameter": False}
    )

    def __post_init__(self) -> None:
        for name, field in FIELDS.items():
            value = check_type(name, str(field.type), getattr(self, name))
            object.__setattr__(self, name, value)
            check_bounds(name, value, field.metadata)
        check_together(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> HParams:
        """Settings from T2T's key names; keys that are missing keep their defaults.

        Raises:
          UserError: an unknown key, an ignorable one at a value that would matter, or a bad value.
        """
        return cls().replace(**_known(values))

    @classmethod
    def from_json(cls, text: str) -> HParams:
        """Settings from the text of an `hparams.json`, this project's or T2T's; see `from_dict`."""
        try:
            values = json.loads(text)
        except ValueError as error:
            raise UserError(f"hparams.json is not JSON: {error}") from None
        if not isinstance(values, dict):
            raise UserError("hparams.json must be one JSON object of names and values")
        return cls.from_dict(values)

    def to_dict(self) -> dict[str, Any]:
        """Every hyperparameter by name, without T2T's ignorable ones."""
        return {name: getattr(self, name) for name in FIELDS}

    def to_json(self, **run: Any) -> str:
        """T2T's `hparams.json`: all its keys, sorted; `run` adds facts such as data_dir."""
        unknown = sorted(set(run) - RUN_KEYS)
        if unknown:
            raise ValueError(f"{unknown[0]} is not one of {', '.join(sorted(RUN_KEYS))}")
        values = {**IGNORABLE, **self.to_dict(), **run}
        return json.dumps(values, indent=1, sort_keys=True) + "\n"

    def replace(self, **changes: Any) -> HParams:
        """A copy with `changes`, checked.

        Raises:
          UserError: an unknown name or a bad value.
        """
        return self.derive("replaced in the program", **changes)

    def derive(self, source: str, **changes: Any) -> HParams:
        """As `replace`, with the `source` of the changed values remembered for `source_of`."""
        for name in changes:
            if name not in FIELDS:
                raise UserError(_unknown(name))
        sources = {**dict(self.sources), **dict.fromkeys(changes, source)}
        return dataclasses.replace(self, **changes, sources=tuple(sorted(sources.items())))

    def override(self, overrides: str) -> HParams:
        """A copy changed by a string as T2T's `--hparams` takes it: `batch_size=1024,num_heads=4`.

        Raises:
          UserError: an unknown name, a name given twice or without a value, or a bad value.
        """
        changes: dict[str, Any] = {}
        for name, text in split_overrides(overrides).items():
            if name in FIELDS:
                changes[name] = parse_value(name, str(FIELDS[name].type), text)
            else:
                kind = type(IGNORABLE[name]).__name__ if name in IGNORABLE else "str"
                _known({name: parse_value(name, kind, text)}, run_keys=False)
        return self.derive("override", **changes)

    def differences(self, other: HParams) -> list[tuple[str, Any, Any]]:
        """(name, value here, value in `other`) of every hyperparameter that differs, by name."""
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in sorted(FIELDS))
        return [pair for pair in pairs if pair[1] != pair[2]]

    def source_of(self, name: str) -> str:
        """Where the value of `name` comes from: a section of the paper, a set, an override."""
        return dict(self.sources).get(name) or FIELDS[name].metadata["source"]

    @property
    def encoder_layers(self) -> int:
        """Layers the encoder really has."""
        return self.num_encoder_layers or self.num_hidden_layers

    @property
    def decoder_layers(self) -> int:
        """Layers the decoder really has."""
        return self.num_decoder_layers or self.num_hidden_layers

    @property
    def key_width(self) -> int:
        """Width of queries and of keys over all heads."""
        return self.attention_key_channels or self.hidden_size

    @property
    def value_width(self) -> int:
        """Width of values over all heads."""
        return self.attention_value_channels or self.hidden_size

    def broadcast_axes(self, name: str) -> tuple[int, ...]:
        """The axes of one of the `…_broadcast_dims` hyperparameters."""
        return parse_axes(name, getattr(self, name))


FIELDS: dict[str, dataclasses.Field[Any]] = {
    field.name: field
    for field in dataclasses.fields(HParams)
    if field.metadata.get("hyperparameter", True)
}


def _known(values: Mapping[str, Any], run_keys: bool = True) -> dict[str, Any]:
    """The hyperparameters among T2T's keys, after the ignorable ones were checked."""
    changes = {}
    for name, value in values.items():
        if name in FIELDS:
            changes[name] = value
        elif name in IGNORABLE:
            if not is_usual(name, value):
                raise UserError(
                    f"{name} is {value!r}: only {IGNORABLE[name]!r} is offered, "
                    "as in every Transformer set of T2T"
                )
        elif not (run_keys and name in RUN_KEYS):
            raise UserError(_unknown(name))
    return changes


def _unknown(name: str) -> str:
    return f"{name} is not a hyperparameter{nearest(name, [*FIELDS, *IGNORABLE])}"
