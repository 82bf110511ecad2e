"""What `kt-info` says about a data directory: how its examples fill the length buckets."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from keras_transformer.data.batching import scheme_from_hparams
from keras_transformer.data.bucket_fill import fill_buckets, shard_lengths

if TYPE_CHECKING:
    from keras_transformer.config import HParams
    from keras_transformer.data.problem import Problem


def describe_data(
    problem: Problem,
    data_dir: str,
    hp: HParams,
    split: str,
    max_examples: int,
    replicas: int = 1,
    plot: str | None = None,
) -> dict[str, Any]:
    """Examples, fill and padding of each bucket; see `kt-info --help`.

    Args:
      problem: whose shards they are.
      data_dir: folder of the shards.
      hp: settings of the buckets; `batch_size` in subtokens a side.
      split: `train`, `dev` or `test`; lengths are limited as for this split.
      max_examples: examples read at most, from the first shard on.
      replicas: factor on every batch size.
      plot: image file for the picture of it.

    Raises:
      UserError: shards are missing, or the picture cannot be made.
    """
    scheme = scheme_from_hparams(hp, split == "train", replicas, problem.batch_size_multiplier)
    paths = problem.shard_paths(data_dir, split)
    lengths = list(shard_lengths(paths, max_examples))
    buckets, dropped = fill_buckets(lengths, scheme)
    if plot:
        from keras_transformer.plots.lengths import plot_lengths

        names = ["rest" if b.below is None else str(b.below - 1) for b in buckets]
        fills = [
            (name, bucket.tokens, bucket.positions)
            for name, bucket in zip(names, buckets, strict=True)
            if bucket.sentences
        ]
        plot_lengths(lengths, fills, plot)
    tokens, positions = (sum(getattr(b, n) for b in buckets) for n in ("tokens", "positions"))
    too_short = sum(max(pair) < scheme.min_length for pair in lengths)
    return {
        "examples_read": len(lengths),
        "read_all": len(lengths) < max_examples,
        "sentences": len(lengths) - dropped,
        "dropped": dropped,
        "too_short": too_short,
        "too_long": dropped - too_short,
        "min_length": scheme.min_length,
        "max_length": scheme.max_length,
        "tokens": tokens,
        "positions": positions,
        "padding_share": 1 - tokens / positions if positions else 0.0,
        "rows": [
            {**dataclasses.asdict(b), "fill": 1 - b.padding_share, "padding_share": b.padding_share}
            for b in buckets
        ],
    }


def as_lines(found: dict[str, Any]) -> list[str]:
    """The description for a reader, at most 100 columns."""
    read = "all" if found["read_all"] else "the first"
    lines = [
        f"{read} {found['examples_read']:,} examples; lengths are subtokens, the end of sentence"
        " among them",
        f"  dropped: {found['too_long']:,} longer than {found['max_length']:,},"
        f" {found['too_short']:,} shorter than {found['min_length']:,}",
        f"  padding: {found['padding_share']:.1%} of {found['positions']:,} positions"
        f" ({found['tokens']:,} subtokens)",
        "",
        "  longer side  batch size   examples  batches    fill  padding",
    ]
    lower = 0
    for row in found["rows"]:
        upper = row["below"]
        span = f"from {lower}" if upper is None else f"{lower} to {upper - 1}"
        span = str(lower) if upper == lower + 1 else span
        lower = upper or 0
        if row["sentences"]:
            lines.append(
                f"  {span:>11}  {row['batch_size']:>10,}  {row['sentences']:>9,}"
                f"  {row['batches']:>7,}  {row['fill']:>6.1%}  {row['padding_share']:>7.1%}"
            )
    return lines
