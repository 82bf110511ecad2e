"""Lengths of a data directory and the padding in its batches as a picture.

Needs matplotlib, the extra `plots`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from keras_transformer.plots.figure import new_figure, save_figure

_SHOWN = 0.995  # share of the examples that the picture reaches to
_SOURCE, _TARGET, _PADDING = "#4c8dd6", "#f28e2b", "#c9ccd1"


def plot_lengths(
    lengths: Sequence[tuple[int, int]], buckets: Sequence[tuple[str, int, int]], path: str
) -> None:
    """Draws how long both sides are, and what the batches of each bucket hold.

    Args:
      lengths: (source, target) in subtokens.
      buckets: of each its name, subtokens and positions of both sides in all its batches.
      path: the image; its ending names the format.

    Raises:
      UserError: matplotlib is missing, or the file's ending names no image format.
    """
    figure = new_figure("--plot_lengths", height=7.0)
    upper, lower = figure.subplots(2, 1)
    _draw_lengths(upper, lengths)
    _draw_buckets(lower, buckets)
    save_figure(figure, path, "--plot_lengths")


def _draw_lengths(axes: Any, lengths: Sequence[tuple[int, int]]) -> None:
    longer = sorted(max(pair) for pair in lengths)
    end = longer[int(_SHOWN * (len(longer) - 1))] if longer else 1
    for side, (name, colour) in enumerate((("source", _SOURCE), ("target", _TARGET))):
        counts = Counter(pair[side] for pair in lengths)
        along = range(end + 1)
        axes.step(along, [counts[n] for n in along], where="mid", color=colour, label=name)
    axes.set_xlabel("length, subtokens")
    axes.set_ylabel("examples")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlim(0, end)
    axes.set_ylim(0)
    axes.grid(alpha=0.3)
    axes.legend()


def _draw_buckets(axes: Any, buckets: Sequence[tuple[str, int, int]]) -> None:
    names, tokens, positions = zip(*buckets, strict=True) if buckets else ((), (), ())
    places = range(len(names))
    padding = [all_of - used for all_of, used in zip(positions, tokens, strict=True)]
    axes.bar(places, tokens, color=_SOURCE, label="subtokens")
    axes.bar(places, padding, bottom=tokens, color=_PADDING, label="padding")
    for place, height, empty in zip(places, positions, padding, strict=True):
        axes.annotate(
            f"{empty / height:.0%}",
            (place, height),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=7,
        )
    axes.set_xticks(places, names)
    axes.tick_params(axis="x", labelsize=8, rotation=45 if len(names) > 20 else 0)
    axes.set_xlabel("bucket: longest length in it; above each bar the share of padding")
    axes.set_ylabel("positions of both sides")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.margins(y=0.1)
    axes.legend()
