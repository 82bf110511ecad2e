"""How well a data directory fills its length buckets: sentences, batches, share of padding.

Batches are formed as the input pipeline forms them, in the order of the shards: an example joins
the bucket of its longer side, a full bucket becomes a batch, and a batch is padded to the longest
example in it, each side by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from keras_transformer.data.batching import BatchingScheme
from keras_transformer.data.example_format import decode_example
from keras_transformer.data.tfrecord import read_records


@dataclass
class Bucket:
    """One bucket's share of the data.

    Attributes:
        below: lengths of this bucket are smaller, in subtokens; None for the last bucket.
        batch_size: sentences in a batch.
        sentences, batches: how many; a bucket's rest counts as a batch.
        tokens: subtokens of both sides, end-of-sentence marks counted.
        positions: places for subtokens in the padded batches of both sides.
    """

    below: int | None
    batch_size: int
    sentences: int = 0
    batches: int = 0
    tokens: int = 0
    positions: int = 0

    @property
    def padding_share(self) -> float:
        """Share of the positions that hold padding, 0 without batches."""
        return 1.0 - self.tokens / self.positions if self.positions else 0.0


def shard_lengths(paths: Iterable[str], limit: int | None = None) -> Iterator[tuple[int, int]]:
    """(source, target) lengths of the examples of shards, at most `limit` of them."""
    records = (record for path in paths for record in read_records(path))
    for record in islice(records, limit):
        example = decode_example(record)
        yield len(example["inputs"]), len(example["targets"])


def fill_buckets(
    lengths: Iterable[tuple[int, int]], scheme: BatchingScheme
) -> tuple[list[Bucket], int]:
    """The buckets filled with examples of these lengths, and how many examples were left out.

    Args:
        lengths: (source, target) lengths in subtokens.
        scheme: boundaries, batch sizes and the limits outside which an example is dropped.
    """
    buckets = [
        Bucket(below, size)
        for below, size in zip((*scheme.boundaries, None), scheme.batch_sizes, strict=True)
    ]
    waiting: list[list[tuple[int, int]]] = [[] for _ in buckets]
    dropped = 0
    for pair in lengths:
        length = max(pair)
        if not scheme.min_length <= length <= scheme.max_length:
            dropped += 1
            continue
        number = sum(length >= boundary for boundary in scheme.boundaries)
        waiting[number].append(pair)
        if len(waiting[number]) == buckets[number].batch_size:
            _emit(buckets[number], waiting[number])
    for bucket, rest in zip(buckets, waiting, strict=True):
        if rest:
            _emit(bucket, rest)
    return buckets, dropped


def _emit(bucket: Bucket, pairs: list[tuple[int, int]]) -> None:
    bucket.sentences += len(pairs)
    bucket.batches += 1
    for side in zip(*pairs, strict=True):
        bucket.tokens += sum(side)
        bucket.positions += len(side) * max(side)
    pairs.clear()
