"""How much of the batches is padding: in length buckets, and with several examples in a row.

    report = padding_report(problem, data_dir, hp)
    report.bucketed.padding_share, report.packed.padding_share, report.saved_share

Padding is counted as training meets it: examples in the order of the shards fill buckets and
batches, and each side of a batch is padded to its own longest row (`bucket_fill`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from keras_transformer.data import batching, packing
from keras_transformer.data.bucket_fill import Bucket, fill_buckets
from keras_transformer.data.example_format import decode_example
from keras_transformer.data.tfrecord import read_records

if TYPE_CHECKING:
    from keras_transformer.config import HParams
    from keras_transformer.data.problem import Problem

Lengths = tuple[int, int]


@dataclass(frozen=True)
class Filling:
    """Batches made in one way.

    Attributes:
        rows: in all batches; a row is an example, or several if packed.
        dropped: rows outside `min_length` and `max_length`.
        batches: how many; a bucket's rest counts as one.
        tokens: subtokens of both sides, end-of-sentence marks counted.
        positions: places for subtokens in the padded batches of both sides.
        buckets: the same for each length bucket.
    """

    rows: int
    dropped: int
    batches: int
    tokens: int
    positions: int
    buckets: list[Bucket] = field(repr=False)

    @property
    def padding(self) -> int:
        """Positions that hold padding."""
        return self.positions - self.tokens

    @property
    def padding_share(self) -> float:
        """Share of the positions that hold padding, 0 without batches."""
        return self.padding / self.positions if self.positions else 0.0

    def as_json(self) -> dict[str, Any]:
        """The numbers, without the buckets."""
        names = ("rows", "dropped", "batches", "tokens", "positions", "padding_share")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class PaddingReport:
    """One data directory, one example a row and packed.

    Attributes:
        examples: examples read.
        packed_length: subtokens in a packed row.
        is_packed: the problem's records are packed rows; else packing was tried out here.
        bucketed: one example a row, in length buckets.
        packed: several examples a row.
    """

    examples: int
    packed_length: int
    is_packed: bool
    bucketed: Filling
    packed: Filling

    @property
    def saved_share(self) -> float:
        """Share of the padding that packing saves, per subtoken; negative if it adds some."""
        before, after = self.bucketed, self.packed
        if not (before.padding and before.tokens and after.tokens):
            return 0.0
        return 1.0 - (after.padding / after.tokens) / (before.padding / before.tokens)

    def as_json(self) -> dict[str, Any]:
        """All numbers but those of the buckets."""
        return {
            "examples": self.examples,
            "packed_length": self.packed_length,
            "is_packed": self.is_packed,
            "bucketed": self.bucketed.as_json(),
            "packed": self.packed.as_json(),
            "padding_saved_share": self.saved_share,
        }

    def as_text(self) -> str:
        """Two lines of at most 100 columns."""
        tried = "" if self.is_packed else " (tried out here: the data is not packed)"
        return (
            f"{self.examples:,} examples: {self.bucketed.padding_share:.1%} padding in length"
            f" buckets, {self.packed.padding_share:.1%} packed into rows of {self.packed_length}\n"
            f"  packing saves {self.saved_share:.0%} of the padding{tried}"
        )


def padding_report(
    problem: Problem,
    data_dir: str,
    hp: HParams,
    split: str = "train",
    max_examples: int | None = 200_000,
    num_replicas: int = 1,
) -> PaddingReport:
    """Share of padding in the batches of a split, in length buckets and packed.

    A packed problem's rows are taken as they are and its examples counted one a row besides;
    the examples of any other problem are packed here as T2T packs, into rows of 256 or of
    `max_length` if that is less.

    Args:
        problem: whose shards are read.
        data_dir: where they lie.
        hp: `batch_size`, `max_length` and the other settings of the buckets.
        split: `train`, `dev` or `test`.
        max_examples: records read at most; None: all.
        num_replicas: factor on every batch size.

    Raises:
        UserError: shards are missing.
    """
    scheme = batching.scheme_from_hparams(
        hp, split == "train", num_replicas, problem.batch_size_multiplier
    )
    length = problem.packed_length or min(packing.LENGTH, hp.max_length or hp.batch_size)
    rows = list(_rows(problem.shard_paths(data_dir, split), max_examples))
    examples = [pair for row in rows for pair in row]
    if not problem.packed_length:
        measured = ((pair, pair) for pair in examples)
        rows = list(packing.first_fit(measured, length, problem.packed_spacing))
    return PaddingReport(
        examples=len(examples),
        packed_length=length,
        is_packed=problem.packed_length is not None,
        bucketed=_fill([[pair] for pair in examples], scheme, 0),
        packed=_fill(rows, scheme, problem.packed_spacing),
    )


def _rows(paths: Iterable[str], limit: int | None) -> Iterator[list[Lengths]]:
    """(source, target) lengths of the examples of each record."""
    records = (record for path in paths for record in read_records(path))
    for record in islice(records, limit):
        features = decode_example(record)
        if "inputs_segmentation" not in features:
            yield [(len(features["inputs"]), len(features["targets"]))]
            continue
        sides = [features[f"{side}_segmentation"] for side in packing.SIDES]
        numbers = range(1, max(max(side) for side in sides) + 1)
        yield [(sides[0].count(number), sides[1].count(number)) for number in numbers]


def _fill(rows: list[list[Lengths]], scheme: batching.BatchingScheme, spacing: int) -> Filling:
    gaps = [spacing * (len(row) - 1) for row in rows]
    lengths = [
        (sum(source for source, _ in row) + gap, sum(target for _, target in row) + gap)
        for row, gap in zip(rows, gaps, strict=True)
    ]
    buckets, dropped = fill_buckets(lengths, scheme)
    spaces = 0
    if spacing:
        kept = (scheme.min_length <= max(pair) <= scheme.max_length for pair in lengths)
        spaces = 2 * sum(gap for gap, is_kept in zip(gaps, kept, strict=True) if is_kept)
    return Filling(
        rows=sum(bucket.sentences for bucket in buckets),
        dropped=dropped,
        batches=sum(bucket.batches for bucket in buckets),
        tokens=sum(bucket.tokens for bucket in buckets) - spaces,
        positions=sum(bucket.positions for bucket in buckets),
        buckets=buckets,
    )
