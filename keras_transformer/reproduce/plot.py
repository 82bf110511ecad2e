"""Table 3 as a picture: each row's distance to the base row, here and in the paper."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from keras_transformer.errors import UserError
from keras_transformer.hparams.table3 import ROWS
from keras_transformer.plots.figure import new_figure, save_figure
from keras_transformer.reproduce.results import Result, plan_of

_BAR = 0.38


def distances(results: Sequence[Result]) -> dict[str, tuple[float, float]]:
    """Row → ln(perplexity / perplexity of the base row), here and as printed; above 0 is worse.

    Raises:
        UserError: not Table 3, or no base row, or nothing beside it.
    """
    rows = {plan_of(result).row: result for result in results if plan_of(result).table == 3}
    require_base_and_others(rows)
    here, printed = rows["base"]["perplexity"], ROWS["base"].perplexity
    return {
        row: (
            math.log(result["perplexity"] / here),
            math.log(ROWS[row].perplexity / printed),
        )
        for row, result in rows.items()
        if row != "base"
    }


def require_base_and_others(rows: Collection[str]) -> None:
    """Refuses rows of which there is nothing to draw.

    Raises:
        UserError: no base row, or nothing beside it.
    """
    if "base" not in rows or len(set(rows)) < 2:
        raise UserError("--plot draws rows of table 3 against the row base: make base and others")


def plot(results: Sequence[Result], path: str) -> None:
    """Draws two bars a row into an image file.

    Raises:
        UserError: as `distances`; matplotlib is missing, or the file's ending names no image
            format.
    """
    found = distances(results)
    figure = new_figure("--plot", height=1.5 + 0.35 * len(found))
    axes = figure.add_subplot()
    places = list(range(len(found)))
    for shift, number, label in ((-_BAR / 2, 0, "here"), (_BAR / 2, 1, "the paper")):
        values = [pair[number] for pair in found.values()]
        axes.barh([place + shift for place in places], values, _BAR, label=label)
    changes = {plan_of(result).row: plan_of(result).change for result in results}
    axes.set_yticks(places, [f"{row}  {changes[row]}" for row in found])
    axes.invert_yaxis()
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_xlabel("ln perplexity, difference to the base row (left is better)")
    axes.grid(axis="x", alpha=0.3)
    axes.legend()
    save_figure(figure, path, "--plot")
