"""What a training run costs, by counting: floating-point operations and memory. No TensorFlow.

Counted per replica for a full batch: `batch_size` positions of source and as many of target, in
sentences of one mean length. Real batches hold some padding and the lengths vary, so the memory is
an estimate; the operations are those of the matrix products, which is nearly all of them.
"""

from __future__ import annotations

import math
from typing import TypeVar

from keras_transformer.config import HParams
from keras_transformer.model.parameter_count import padded_vocab_size, parameter_shapes

# A matrix product's forward pass is one, its backward pass two of the same size; a multiplication
# and an addition count as two operations.
_TRAINING_PASSES = 3
_OPERATIONS = 2
_FLOAT32 = 4

_Length = TypeVar("_Length", int, float)


def step_flops(
    hp: HParams, target_vocab_size: int, mean_length: int = 30, replicas: int = 1
) -> float:
    """Floating-point operations of one training step.

    Args:
      hp: the settings.
      target_vocab_size: entries of the target vocabulary.
      mean_length: subtokens of a sentence; attention's share grows with it.
      replicas: devices, each with its own `batch_size` positions.
    """
    positions = replicas * positions_of_a_batch(hp, mean_length)
    return flops_of_positions(hp, target_vocab_size, positions, positions, mean_length)


def flops_of_positions(
    hp: HParams,
    target_vocab_size: int,
    source_positions: float,
    target_positions: float,
    mean_length: float,
) -> float:
    """Floating-point operations of training on so many positions of either side, once.

    Args:
      hp: the settings.
      target_vocab_size: entries of the target vocabulary.
      source_positions, target_positions: of an update, or of any part of a run.
      mean_length: subtokens of a sentence; attention's share grows with it.
    """
    width, key, value = hp.hidden_size, hp.key_width, hp.value_width
    queries_and_output = width * key + value * width
    keys_and_values = width * key + width * value
    # Scores and the weighted sum (full square, no causal saving).
    attending = mean_length * (key + value)
    encoder_attending = _seen(hp, mean_length, sides=2) * (key + value)
    decoder_attending = _seen(hp, mean_length, sides=1) * (key + value)
    feed_forward = 2 * width * hp.filter_size
    rest = queries_and_output + keys_and_values + feed_forward
    encoder = rest + encoder_attending
    # A target position has self-attention and cross-attention; the keys and values of the latter
    # are projected once for each source position.
    decoder_target = rest + decoder_attending + queries_and_output + attending
    per_source = hp.encoder_layers * encoder + hp.decoder_layers * keys_and_values
    per_target = hp.decoder_layers * decoder_target
    per_target += padded_vocab_size(hp, target_vocab_size) * width
    products = source_positions * per_source + target_positions * per_target
    return float(products * _OPERATIONS * _TRAINING_PASSES)


def _seen(hp: HParams, mean_length: _Length, sides: int) -> _Length:
    """Positions that one of self-attention's sees, as the paper's r · n counts them.

    Restricted attention computes some more, see `layers.neighbourhood`: whole blocks and sides.
    """
    reach = hp.self_attention_neighbourhood
    return min(mean_length, sides * reach + 1) if reach else mean_length


def positions_of_a_batch(hp: HParams, mean_length: int) -> int:
    """Positions of one side in a replica's batch."""
    return hp.batch_size * mean_length if hp.use_fixed_batch_size else hp.batch_size


def memory_bytes(
    hp: HParams, source_vocab_size: int, target_vocab_size: int | None, mean_length: int = 30
) -> dict[str, int]:
    """Bytes on each replica of weights, gradients, optimizer slots and kept activations.

    Activations are what the backward pass needs: an estimate that leaves out workspace and the
    allocator's loss.
    """
    shapes = [s for _, s in parameter_shapes(hp, source_vocab_size, target_vocab_size)]
    weights = _FLOAT32 * sum(math.prod(shape) for shape in shapes)
    sizes = {
        "weights": weights,
        "gradients": weights,
        "optimizer": _FLOAT32 * sum(_slots(hp, shape) for shape in shapes),
        "activations": _activations(hp, target_vocab_size or source_vocab_size, mean_length),
    }
    return {**sizes, "total": sum(sizes.values())}


def _slots(hp: HParams, shape: tuple[int, ...]) -> int:
    """Numbers the optimizer keeps beside a variable of this shape."""
    size = math.prod(shape)
    if hp.optimizer == "momentum":
        return size
    if hp.optimizer == "adafactor":
        factored = hp.optimizer_adafactor_factored and len(shape) > 1
        second_moment = sum(shape) if factored else size
        return second_moment + (size if hp.optimizer_adafactor_beta1 else 0)
    # Adam's two moments; multistep Adam keeps the gradients' sum too.
    return (3 if hp.optimizer == "multistep_adam" else 2) * size


def _activations(hp: HParams, target_vocab_size: int, mean_length: int) -> int:
    width = hp.hidden_size

    def attention(seen: int) -> int:
        # Queries, keys, values, weights (twice where a dropout mask is kept), context; then
        # output, dropped output and normalised sum.
        weights = hp.num_heads * seen * (2 if hp.attention_dropout else 1)
        return 2 * (hp.key_width + hp.value_width) + weights + 3 * width

    feed_forward = hp.filter_size * (2 if hp.relu_dropout else 1) + 3 * width
    embeddings = 2 * width
    per_position = (
        hp.encoder_layers * (attention(_seen(hp, mean_length, sides=2)) + feed_forward)
        + hp.decoder_layers
        * (attention(_seen(hp, mean_length, sides=1)) + attention(mean_length) + feed_forward)
        + 2 * embeddings
    )
    # Logits and their softmax stay in float32 whatever the activations are.
    logits = 2 * padded_vocab_size(hp, target_vocab_size)
    half = hp.activation_dtype != "float32" or hp.gpu_automatic_mixed_precision
    bytes_of_one = 2 if half else _FLOAT32
    return positions_of_a_batch(hp, mean_length) * (per_position * bytes_of_one + logits * _FLOAT32)
