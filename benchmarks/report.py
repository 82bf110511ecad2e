"""Results as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.harness import Measure, Outcome

NAME_WIDTH, COLUMN_WIDTH = 28, 22


def table(measure: Measure, outcomes: Sequence[Outcome], left_out: Mapping[str, str]) -> str:
    """One block of rows for each figure, then the memory."""
    lines = [f"{measure.name}: {measure.title}"]
    peers = [outcome for outcome in outcomes if outcome.contestant.is_peer]
    for figure in figures(outcomes):
        headings = [f"{measure.unit}/core-s", "of products"]
        headings += [f"x {peer.contestant.name}" for peer in peers]
        headings += [f"time / {measure.baseline}"] * bool(measure.baseline)
        lines.append(_row(f" {figure}", headings))
        for outcome in outcomes:
            if figure not in outcome.rounds[0]:
                continue
            cells = [_number(outcome.rate(figure)), _share(outcome, outcomes, figure)]
            if outcome.contestant.product:
                cells += [
                    "" if outcome is peer else f"{outcome.times(peer, figure):.2f}"
                    for peer in peers
                ]
            times = time_of_baseline(measure, outcome, outcomes, figure)
            cells += [""] * (len(headings) - 1 - len(cells)) + [f"{times:.2f}"] if times else []
            lines.append(_row(f"  {outcome.contestant.name}", cells))
    lines.append(_row(" peak memory", ["MiB"] + ["x weights"] * bool(measure.parameters)))
    for outcome in outcomes:
        cells = [f"{outcome.peak_memory / 2**20:,.0f}"]
        if measure.parameters and outcome.contestant.product:
            cells.append(f"{outcome.peak_memory / (4 * measure.parameters):.2f}")
        lines.append(_row(f"  {outcome.contestant.name}", cells))
    lines += [f" left out: {name}: {reason}" for name, reason in left_out.items()]
    return "\n".join(lines)


def as_json(
    measure: Measure, outcomes: Sequence[Outcome], left_out: Mapping[str, str]
) -> dict[str, Any]:
    """All that was measured, for other programs."""
    return {
        "title": measure.title,
        "unit": measure.unit,
        "parameters": measure.parameters or None,
        "left_out": dict(left_out),
        "contestants": {
            outcome.contestant.name: {
                "versions": outcome.versions,
                "per_core_second": {figure: outcome.rate(figure) for figure in outcome.rounds[0]},
                "of_products": {
                    figure: share
                    for figure in outcome.rounds[0]
                    if (share := share_of_products(outcome, outcomes, figure)) is not None
                },
                "time_of_baseline": {
                    figure: times
                    for figure in outcome.rounds[0]
                    if (times := time_of_baseline(measure, outcome, outcomes, figure)) is not None
                },
                "times_as_fast_as": {
                    peer.contestant.name: {
                        figure: outcome.times(peer, figure)
                        for figure in outcome.rounds[0]
                        if figure in peer.rounds[0]
                    }
                    for peer in outcomes
                    if peer.contestant.is_peer and peer is not outcome
                },
                "rounds": outcome.rounds,
                "peak_memory_bytes": outcome.peak_memory,
                "checked": outcome.checked,
            }
            for outcome in outcomes
        },
    }


def figures(outcomes: Sequence[Outcome]) -> list[str]:
    """Names of all figures in the order they were measured."""
    return list(dict.fromkeys(figure for outcome in outcomes for figure in outcome.rounds[0]))


def share_of_products(outcome: Outcome, outcomes: Sequence[Outcome], figure: str) -> float | None:
    """The rate over that of the matrix products alone; None where they were not measured."""
    for other in outcomes:
        if other.contestant.name == outcome.contestant.product and figure in other.rounds[0]:
            return outcome.times(other, figure)
    return None


def time_of_baseline(
    measure: Measure, outcome: Outcome, outcomes: Sequence[Outcome], figure: str
) -> float | None:
    """Time for a unit over that of the measure's baseline; None without one."""
    for other in outcomes:
        if other.contestant.name == measure.baseline and figure in other.rounds[0]:
            return other.times(outcome, figure)
    return None


def _share(outcome: Outcome, outcomes: Sequence[Outcome], figure: str) -> str:
    share = share_of_products(outcome, outcomes, figure)
    return "" if share is None else f"{share:,.2f}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.4g}"


def _row(name: str, cells: Sequence[str]) -> str:
    return f"{name:{NAME_WIDTH}}" + "".join(f"{cell:>{COLUMN_WIDTH}}" for cell in cells)
