"""How many parameters a model has, from its settings alone: no layer is built, no TensorFlow.

`D` is the model width, `V` a vocabulary size. Biases stand in the feed-forward layers only (and in
the projections with `attention_bias`); a layer norm has a scale and a bias. Checked in the tests
against real models and against the variables Tensor2Tensor makes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from keras_transformer.config import HParams

# Rows of T2T's target-space table.
TARGET_SPACES = 32
PARTS = (
    "embedding",
    "softmax",
    "target_space",
    "positions",
    "attention",
    "feed_forward",
    "layer_norm",
)

Shape = tuple[int, ...]


def padded_vocab_size(hp: HParams, size: int) -> int:
    """`size` rounded up to a multiple of `vocab_divisor`."""
    return -(-size // hp.vocab_divisor) * hp.vocab_divisor


def parameter_shapes(
    hp: HParams, source_vocab_size: int, target_vocab_size: int | None = None
) -> Iterator[tuple[str, Shape]]:
    """(part, shape) of every variable that is trained.

    Args:
      hp: the settings.
      source_vocab_size: entries of the source vocabulary.
      target_vocab_size: entries of the target vocabulary; None: one vocabulary for both sides.
        As in T2T, tables are shared only where both sizes agree.
    """
    width = hp.hidden_size
    source = padded_vocab_size(hp, source_vocab_size)
    target = padded_vocab_size(hp, target_vocab_size or source_vocab_size)
    same = source == target
    one_table = same and hp.shared_embedding_and_softmax_weights
    yield "embedding", (source, width)
    if not (one_table or (same and hp.shared_embedding)):
        yield "embedding", (target, width)
    if not one_table:
        yield "softmax", (target, width)
    if hp.use_target_space_embedding:
        yield "target_space", (TARGET_SPACES, width)
    if hp.pos == "emb":
        yield "positions", (hp.max_length, width)
        yield "positions", (hp.max_length, width)
    # Encoder layers have one attention, decoder layers two; each is followed by a feed-forward.
    for layers, attentions in ((hp.encoder_layers, 1), (hp.decoder_layers, 2)):
        for _ in range(layers):
            for _ in range(attentions):
                yield from _attention(hp)
                yield from _sublayer_norms(hp)
            yield from _feed_forward(hp)
            yield from _sublayer_norms(hp)
        # The step before a sub-layer closes the stack too: the final norm of pre-norm models.
        for _ in range(_norms_in(hp.layer_preprocess_sequence)):
            yield from _layer_norm(hp)


def count_parameters(
    hp: HParams, source_vocab_size: int, target_vocab_size: int | None = None
) -> dict[str, int]:
    """Parameters by part (those of `PARTS`) and their `total`; see `parameter_shapes`."""
    counts = dict.fromkeys(PARTS, 0)
    for part, shape in parameter_shapes(hp, source_vocab_size, target_vocab_size):
        counts[part] += math.prod(shape)
    return {**counts, "total": sum(counts.values())}


def _attention(hp: HParams) -> Iterator[tuple[str, Shape]]:
    shapes = (
        (hp.hidden_size, hp.key_width),
        (hp.hidden_size, hp.key_width),
        (hp.hidden_size, hp.value_width),
        (hp.value_width, hp.hidden_size),
    )
    for shape in shapes:
        yield "attention", shape
        if hp.attention_bias:
            yield "attention", shape[1:]


def _feed_forward(hp: HParams) -> Iterator[tuple[str, Shape]]:
    for shape in ((hp.hidden_size, hp.filter_size), (hp.filter_size, hp.hidden_size)):
        yield "feed_forward", shape
        yield "feed_forward", shape[1:]


def _sublayer_norms(hp: HParams) -> Iterator[tuple[str, Shape]]:
    for sequence in (hp.layer_preprocess_sequence, hp.layer_postprocess_sequence):
        for _ in range(_norms_in(sequence)):
            yield from _layer_norm(hp)


def _layer_norm(hp: HParams) -> Iterator[tuple[str, Shape]]:
    yield "layer_norm", (hp.hidden_size,)
    yield "layer_norm", (hp.hidden_size,)


def _norms_in(sequence: str) -> int:
    return 0 if sequence == "none" else sequence.count("n")
