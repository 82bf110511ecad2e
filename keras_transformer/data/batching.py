"""Length buckets and their batch sizes, exactly as T2T 1.15 cuts them.

An example's length is its longer side in subtokens, EOS included. Bucket j holds the lengths
`boundaries[j-1] <= length < boundaries[j]`, the last bucket all the rest. A batch is padded to its
own longest example, so each side fills at most about `batch_size` positions.
(T2T `utils/data_reader.py`: `_bucket_boundaries`, `batching_scheme`.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.config import HParams

NO_LIMIT = 10**9

# Numbers with more divisors than any smaller one (OEIS A002182), T2T's windows.
_HIGHLY_COMPOSITE = (
    *(1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520, 5040),
    *(7560, 10080, 15120, 20160, 25200, 27720, 45360, 50400, 55440, 83160, 110880, 166320),
    *(221760, 277200, 332640, 498960, 554400, 665280, 720720, 1081080, 1441440, 2162160),
    *(2882880, 3603600, 4324320, 6486480, 7207200, 8648640, 10810800, 14414400, 17297280),
    *(21621600, 32432400, 36756720, 43243200, 61261200, 73513440, 110270160),
)


@dataclass(frozen=True)
class BatchingScheme:
    """Buckets of one input pipeline.

    Attributes:
        boundaries: upper limits of the buckets but the last, in subtokens, exclusive.
        batch_sizes: sentences in a global batch of each bucket; one more than boundaries.
        min_length, max_length: limits of an example's length, inclusive, in subtokens.
        shuffle_queue_size: T2T's value, in batches; `batch_shuffle_size` is what is used.
    """

    boundaries: tuple[int, ...]
    batch_sizes: tuple[int, ...]
    min_length: int
    max_length: int
    shuffle_queue_size: int


def bucket_boundaries(max_length: int, min_length: int, step: float) -> tuple[int, ...]:
    """Boundaries from `min_length` up to below `max_length`, growing by the factor `step`.

    Raises:
        UserError: `step` is not above 1.
    """
    if step <= 1.0:
        raise UserError(f"length_bucket_step is {step}: it must be above 1 (T2T's value is 1.1)")
    boundaries = []
    boundary = min_length
    while boundary < max_length:
        boundaries.append(boundary)
        boundary = max(boundary + 1, int(boundary * step))
    return tuple(boundaries)


def batching_scheme(
    batch_size: int,
    max_length: int,
    min_length_bucket: int,
    length_bucket_step: float,
    drop_long_sequences: bool = False,
    shard_multiplier: int = 1,
    length_multiplier: int = 1,
    min_length: int = 0,
) -> BatchingScheme:
    """Buckets and batch sizes for the given numbers.

    Args:
        batch_size: positions a side of a batch may fill, per replica.
        max_length: longest example in subtokens; 0 = `batch_size`.
        min_length_bucket: first boundary.
        length_bucket_step: growth of the boundaries.
        drop_long_sequences: `max_length` is a limit, not only the end of the boundaries.
        shard_multiplier: number of replicas; every batch size is multiplied by it.
        length_multiplier: factor on boundaries and limit (`Problem.batch_size_multiplier`).
        min_length: shortest example in subtokens.

    Raises:
        UserError: `min_length` is above `max_length`.
    """
    max_length = max_length or batch_size
    if max_length < min_length:
        raise UserError(f"max_length is {max_length}, min_length {min_length}: nothing fits")
    boundaries = bucket_boundaries(max_length, min_length_bucket, length_bucket_step)
    boundaries = tuple(boundary * length_multiplier for boundary in boundaries)
    max_length *= length_multiplier
    raw_sizes = [max(1, batch_size // length) for length in (*boundaries, max_length)]
    window = max(n for n in _HIGHLY_COMPOSITE if n <= 3 * max(raw_sizes))
    sizes = tuple(_largest_divisor(window, size) * shard_multiplier for size in raw_sizes)
    return BatchingScheme(
        boundaries=boundaries,
        batch_sizes=sizes,
        min_length=min_length,
        max_length=max_length if drop_long_sequences else NO_LIMIT,
        shuffle_queue_size=window * shard_multiplier // min(sizes) * 3,
    )


def _largest_divisor(number: int, limit: int) -> int:
    return next(divisor for divisor in range(limit, 0, -1) if number % divisor == 0)


def scheme_from_hparams(
    hp: HParams, is_training: bool, num_replicas: int = 1, length_multiplier: int = 1
) -> BatchingScheme:
    """The scheme of a settings object.

    With `use_fixed_batch_size` there is one bucket of `batch_size` sentences per replica.
    """
    limited = is_training or hp.eval_drop_long_sequences
    scheme = batching_scheme(
        batch_size=hp.batch_size,
        max_length=hp.max_length,
        min_length_bucket=hp.min_length_bucket,
        length_bucket_step=hp.length_bucket_step,
        shard_multiplier=num_replicas,
        length_multiplier=length_multiplier,
        min_length=hp.min_length,
    )
    return BatchingScheme(
        boundaries=() if hp.use_fixed_batch_size else scheme.boundaries,
        batch_sizes=(hp.batch_size * num_replicas,)
        if hp.use_fixed_batch_size
        else scheme.batch_sizes,
        min_length=scheme.min_length,
        # The limit itself is not multiplied (T2T `Problem.max_length`).
        max_length=(hp.max_length or hp.batch_size) if limited else NO_LIMIT,
        shuffle_queue_size=scheme.shuffle_queue_size,
    )
