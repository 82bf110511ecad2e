"""How time and memory grow with the sizes of the work: curves, each beside its formula.

    python -m benchmarks.run --only=growth            # two minutes; growth.md, growth.png

A curve changes one size and keeps the others. Its formula says how the figure may grow: linearly,
but for the candidates of a beam search. What is quadratic in the paper (attention over a sequence)
is linear for each token, which the curve over the length shows. A straight line is fitted to each
curve; one that climbs faster between its last two points than its formula, by more than `TOLERANCE`
of the exponent, is called out.

The models are small, so that the size that changes is what is seen.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import WORKERS, ContestantError, environment_of

TOLERANCE = 0.15  # of the exponent: what measuring alone adds or takes


@dataclass(frozen=True)
class Curve:
    """One size and the figures over it.

    Attributes:
        name: of the curve.
        size: what is changed, with its unit.
        work: "training" or "decoding".
        values: of the size.
        job: function of the size that gives the settings of the worker's job.
        time: what the time is of, and its formula.
        memory: the same for the memory.
        power: the highest power of the size in the formula of the time.
    """

    name: str
    size: str
    work: str
    values: Sequence[int]
    job: Callable[[int], dict[str, Any]]
    time: str
    memory: str
    power: int = 1


@dataclass(frozen=True)
class Line:
    """a + b · x, fitted so that the relative errors are least."""

    constant: float
    slope: float
    deviation: float  # the largest relative error
    exponent: float  # d log y / d log x between the last two points

    def is_too_steep(self, power: int = 1) -> bool:
        return self.exponent > power + TOLERANCE


TRAINED = {"hidden_size": 128, "filter_size": 512, "num_heads": 4, "layers": 1, "vocab_size": 2000}
DECODED = {**TRAINED, "sentences": 8, "length": 24, "beam_size": 4}


def curves(quick: bool) -> list[Curve]:
    """All of them; `quick` keeps two short points of each."""
    tokens = 512 if quick else 4096

    def values(*all_of_them: int) -> Sequence[int]:
        return all_of_them[:2] if quick else all_of_them

    return [
        Curve(
            "batch",
            "target tokens of a batch",
            "training",
            values(512, 1024, 2048, 4096, 8192),
            lambda size: {**TRAINED, "sentences": size // 32, "length": 32},
            "a step: products and everything else for each token, the update for each weight:"
            " a + b · tokens",
            "activations for each token, weights and optimizer once: a + b · tokens;"
            " the logits in chunks of 1,024",
        ),
        Curve(
            "length",
            f"positions of a sentence, {tokens:,} tokens in all",
            "training",
            values(32, 64, 128, 256, 512),
            lambda size: {**TRAINED, "sentences": tokens // size, "length": size},
            "a step: each token looks at as many positions as its sentence has:"
            " tokens · (a + b · positions)",
            "weights of attention, one for each token, position and head:"
            " tokens · (a + b · positions)",
        ),
        Curve(
            "vocabulary",
            "entries",
            "training",
            values(2000, 4000, 8000, 16000, 32000),
            lambda size: {**TRAINED, "vocab_size": size, "sentences": 32, "length": 32},
            "a step of 1,024 tokens: logits and their gradients, the update of the table:"
            " a + b · entries",
            "table, gradient and two moments (16 · d bytes an entry), the logits of a chunk:"
            " a + b · entries",
        ),
        Curve(
            "layers",
            "layers of encoder and of decoder",
            "training",
            values(1, 2, 4, 8),
            lambda size: {**TRAINED, "layers": size, "sentences": tokens // 32, "length": 32},
            "a step: a + b · layers",
            "weights and activations of each layer: a + b · layers",
        ),
        Curve(
            "beam",
            "hypotheses of a sentence",
            "decoding",
            values(2, 4, 8, 16, 32),
            lambda size: {**DECODED, "beam_size": size},
            "a search of 8 sentences: a row of every product, and a cache to be reordered, for each"
            " hypothesis; of each, twice as many candidates as there are hypotheses, all of which"
            " are compared: a + b · hypotheses + c · hypotheses²",
            "logits and self-attention caches of each hypothesis, the source's keys and values once"
            " for all: a + b · hypotheses",
            power=2,
        ),
        Curve(
            "output",
            "subtokens of an output",
            "decoding",
            values(16, 32, 64, 128, 256),
            lambda size: {**DECODED, "length": size, "per_step": True},
            "one step, the mean of a search: the products, then attention, growth and reordering of"
            " caches as long as what was said: a + b · subtokens",
            "caches of all that was said: a + b · subtokens",
        ),
    ]


def fit(sizes: Sequence[float], figures: Sequence[float]) -> Line:
    """The line through a curve, by least squares of relative errors; no part below zero."""
    weights = [1 / figure**2 for figure in figures]
    points = list(zip(weights, sizes, figures, strict=True))
    w, wx, wy = sum(weights), sum(w * x for w, x, _ in points), sum(w * y for w, _, y in points)
    wxx, wxy = sum(w * x * x for w, x, _ in points), sum(w * x * y for w, x, y in points)
    slope = (w * wxy - wx * wy) / (w * wxx - wx * wx)
    constant = (wy - slope * wx) / w
    if constant < 0:
        constant, slope = 0.0, wxy / wxx
    elif slope < 0:
        constant, slope = wy / w, 0.0
    deviation = max(abs(constant + slope * x - y) / y for _, x, y in points)
    exponent = math.log(figures[-1] / figures[-2]) / math.log(sizes[-1] / sizes[-2])
    return Line(constant, slope, deviation, exponent)


def measure(quick: bool, say: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Measures all curves, one process for each point.

    Args:
        quick: small sizes.
        say: called with a line of text as it goes.

    Returns:
        what `as_markdown` and `draw` show, ready to be written as JSON.

    Raises:
        ContestantError: a process failed.
    """
    all_curves = curves(quick)
    jobs = [
        {"work": curve.work, "repeats": 1 if quick else 3, **curve.job(value)}
        for curve in all_curves
        for value in curve.values
    ]
    reports = iter(run_jobs(jobs))
    results: dict[str, Any] = {}
    for curve in all_curves:
        points = [{"size": value, **next(reports)} for value in curve.values]
        say(f"{curve.name}: " + ", ".join(f"{p['size']}: {p['seconds']:.3g} s" for p in points))
        sizes = [point["size"] for point in points]
        results[curve.name] = {
            "size": curve.size,
            "points": points,
            "seconds": figure(
                curve.time, sizes, [point["seconds"] for point in points], curve.power
            ),
            "bytes": figure(curve.memory, sizes, [point["bytes"] for point in points]),
        }
    return results


def figure(
    formula: str, sizes: Sequence[float], figures: Sequence[float], power: int = 1
) -> dict[str, Any]:
    """A curve's fitted line beside its formula, as JSON."""
    line = fit(sizes, figures)
    return {
        "formula": formula,
        "constant": line.constant,
        "slope": line.slope,
        "largest_deviation": line.deviation,
        "last_exponent": line.exponent,
        "is_too_steep": line.is_too_steep(power),
    }


def run_jobs(jobs: Sequence[dict[str, Any]]) -> list[dict[str, float]]:
    """What the worker reports for each job."""
    with tempfile.TemporaryDirectory() as folder:
        job_file = Path(folder) / "jobs.json"
        job_file.write_text(json.dumps(list(jobs)), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(WORKERS / "growth.py"), str(job_file)],
            env=environment_of(threads=1),
            cwd=WORKERS,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise ContestantError("\n".join(done.stderr.strip().splitlines()[-20:]))
    return [json.loads(line) for line in done.stdout.splitlines()]


def as_markdown(results: dict[str, Any]) -> str:
    """Tables of all curves with their formulas."""
    parts = []
    for name, curve in results.items():
        parts.append(
            f"### {name}\n\n| {curve['size']} | CPU seconds | MiB |\n| ---: | ---: | ---: |"
        )
        parts[-1] += "".join(
            f"\n| {p['size']:,} | {p['seconds']:.4g} | {p['bytes'] / 2**20:,.0f} |"
            for p in curve["points"]
        )
        for title, key, scale, unit in (
            ("Time", "seconds", 1e3, "ms"),
            ("Memory", "bytes", 2**-20, "MiB"),
        ):
            line = curve[key]
            verdict = "**steeper than its formula**" if line["is_too_steep"] else "as it must"
            parts.append(
                f"{title}: {line['formula']}. Fitted: {line['constant'] * scale:.4g} {unit} +"
                f" {line['slope'] * scale:.3g} {unit} · size, at most"
                f" {line['largest_deviation']:.0%} beside it; exponent of the last step"
                f" {line['last_exponent']:.2f}: {verdict}."
            )
    return "\n\n".join(parts) + "\n"


def draw(results: dict[str, Any], path: Path) -> None:
    """A picture of all curves: points as measured, lines as fitted."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    picture, rows = pyplot.subplots(2, len(results), figsize=(3.2 * len(results), 6), squeeze=False)
    for column, (name, curve) in enumerate(results.items()):
        sizes = [point["size"] for point in curve["points"]]
        for axes, key, scale, unit in (
            (rows[0][column], "seconds", 1e3, "CPU ms"),
            (rows[1][column], "bytes", 2**-20, "MiB"),
        ):
            line = curve[key]
            axes.plot(sizes, [point[key] * scale for point in curve["points"]], "o", color="C0")
            fitted = [(line["constant"] + line["slope"] * size) * scale for size in sizes]
            axes.plot(sizes, fitted, "-", color="C1", linewidth=1)
            axes.set(xlabel=curve["size"], ylabel=unit, ylim=(0, None), xlim=(0, None))
            axes.xaxis.label.set_size(7)
        rows[0][column].set_title(name)
    picture.tight_layout()
    picture.savefig(path, dpi=110)
    pyplot.close(picture)
