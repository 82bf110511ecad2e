"""Table 1 of the paper, measured: time and memory of four layer types over n and d.

    python -m benchmarks.table1                       # some minutes
    python -m benchmarks.table1 --quick               # small sizes: does it all still run?
    python -m benchmarks.table1 --folder=docs/table1

Forward and backward of one layer on one sequence of n positions of width d, float32, one thread,
in processes that take turns: this project's self-attention (heads of 64), the same restricted to r
positions to each side, Keras's LSTM and Conv1D. Writes `table1.json` (every round, hardware,
versions), `table1.md` and `table1.png`:

- time: CPU seconds, the median of the rounds;
- memory: bytes in use at the highest above those before, as TensorFlow's allocator counts them (0:
  this build's does not), beside the counted bytes of what the backward pass needs. The allocator
  leaves out pieces under 256 KiB, and with them all that an LSTM keeps of its steps: of that layer
  the counted bytes alone are shown;
- exponents of n and d: slopes of a line through the larger half of the sizes in logarithms, beside
  those of the table. Table 1 leaves out the four projections of attention, 4 n d²: "attending" is
  the time less that of the projections alone, measured in the same rounds.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from benchmarks import layer_types, machine
from benchmarks.harness import REPOSITORY, Contestant, Measure, Outcome, compete
from benchmarks.layer_types import LAYERS, PROJECTIONS, Size
from benchmarks.run import positive, progress, write

LENGTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
WIDTHS = (64, 128, 256, 512, 1024)
WIDTH_OF_LENGTHS, LENGTH_OF_WIDTHS = 256, 512
QUICK_LENGTHS, QUICK_WIDTHS = (16, 32, 80, 160), (64, 128)
ATTENTION = ("self-attention", "restricted")
COLOURS = {
    "self-attention": "#4c8dd6",
    "recurrent": "#e15759",
    "convolutional": "#f28e2b",
    "restricted": "#3fae9f",
}
SMALLEST_GROWTH = 2**20  # bytes
# Keeps its activations in an array for each step, too small for the allocator's count.
SMALL_PIECES = ("recurrent",)


def main() -> int:
    args = arguments()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    lengths, widths = (QUICK_LENGTHS, QUICK_WIDTHS) if args.quick else (LENGTHS, WIDTHS)
    over_n = [(n, WIDTH_OF_LENGTHS) for n in lengths]
    over_d = [(LENGTH_OF_WIDTHS if not args.quick else lengths[-1], d) for d in widths]
    sizes = list(dict.fromkeys([*over_n, *over_d]))
    rounds = args.rounds or (1 if args.quick else 3)
    here = machine.description()
    print(machine.in_words(here))
    seconds, versions = measured(sizes, "time", rounds)
    memory, _ = measured(sizes, "memory", 1)
    result = {
        **here,
        "versions": versions,
        "rounds": rounds,
        "settings": {
            "kernel": layer_types.KERNEL,
            "reach": layer_types.REACH,
            "head_width": layer_types.HEAD_WIDTH,
        },
        "table1": layer_types.table1(),
        "layers": {layer: figures(layer, sizes, seconds, memory) for layer in seconds},
        "exponents": {
            layer: {"n": slopes(layer, over_n, seconds), "d": slopes(layer, over_d, seconds)}
            for layer in LAYERS
        },
    }
    folder = args.folder
    write(folder / "table1.json", result)
    text = markdown(result, over_n, over_d)
    (folder / "table1.md").write_text(text, encoding="utf-8")
    plot(result, over_n, over_d, str(folder / "table1.png"))
    print(text)
    print(f"written: {folder}/table1.json, table1.md, table1.png")
    return 0


Figures = dict[str, dict[Size, list[float]]]


def measured(sizes: Sequence[Size], what: str, rounds: int) -> tuple[Figures, dict[str, str]]:
    """layer → size → of each round CPU seconds of one pass, or bytes; and the versions."""
    contestants = layer_types.contestants(sizes, what)
    if what == "time":
        outcomes = _compete(contestants, rounds)
    else:  # one after the other: the memory of all at once would be theirs together
        outcomes = [outcome for each in contestants for outcome in _compete([each], rounds)]
    found: Figures = {}
    for outcome in outcomes:
        found[outcome.contestant.name] = {
            (n, d): [
                n / each[f"{n} x {d}"] if what == "time" else each[f"{n} x {d}"]
                for each in outcome.rounds
            ]
            for n, d in sizes
        }
    return found, outcomes[0].versions


def _compete(contestants: Sequence[Contestant], rounds: int) -> list[Outcome]:
    outcomes, _ = compete(Measure("table1", "", "", contestants), rounds, 1, _first_words)
    return outcomes


def _first_words(text: str) -> None:
    progress(text.split(":")[0])


def figures(
    layer: str, sizes: Sequence[Size], seconds: Figures, memory: Figures
) -> list[dict[str, Any]]:
    """All that was measured and counted of one layer, size by size."""
    return [
        {
            "n": n,
            "d": d,
            "seconds": statistics.median(seconds[layer][n, d]),
            "rounds": seconds[layer][n, d],
            "flops": layer_types.operations(layer, n, d),
            "memory_bytes": memory[layer][n, d][0],
            "kept_bytes": layer_types.kept_bytes(layer, n, d),
        }
        for n, d in sizes
    ]


def slopes(layer: str, sizes: Sequence[Size], seconds: Figures) -> dict[str, float | None]:
    """The exponent of what grows along the sizes, of the whole layer and of attending alone."""
    along = [n if len({n for n, _ in sizes}) > 1 else d for n, d in sizes]
    half = len(sizes) // 2
    whole = [statistics.median(seconds[layer][size]) for size in sizes]
    found: dict[str, float | None] = {"layer": slope(along[half:], whole[half:])}
    if layer in ATTENTION:
        rest = [
            statistics.median(
                mine - projections
                for mine, projections in zip(
                    seconds[layer][size], seconds[PROJECTIONS][size], strict=True
                )
            )
            for size in sizes
        ]
        found["attending"] = slope(along[half:], rest[half:])
    return found


def slope(along: Sequence[float], values: Sequence[float]) -> float | None:
    """Of the least-squares line through the logarithms; None where a value is not above 0."""
    import numpy as np

    if min(values) <= 0 or len(values) < 2:
        return None
    return float(np.polyfit(np.log(along), np.log(values), 1)[0])


def markdown(result: dict[str, Any], over_n: Sequence[Size], over_d: Sequence[Size]) -> str:
    """Exponents beside the table's, then times and memory."""
    settings = result["settings"]
    lines = [
        f"k = {settings['kernel']}, r = {settings['reach']}, heads of {settings['head_width']};"
        f" median of {result['rounds']} rounds; {machine.in_words(result)}",
        "",
        "| layer | complexity | exponent of n: table | measured | attending |"
        " exponent of d: table | measured | attending |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for layer in LAYERS:
        printed, found = result["table1"][layer], result["exponents"][layer]
        cells = [layer, printed["complexity"]]
        for axis in ("n", "d"):
            cells += [str(printed[axis]), *map(_two, _both(found[axis]))]
        lines.append(f"| {' | '.join(cells)} |")
    for heading, key, unit in (
        ("milliseconds", "seconds", 1e-3),
        ("MiB measured", "memory_bytes", 2**20),
        ("MiB counted", "kept_bytes", 2**20),
    ):
        lines += [
            "",
            f"| {heading}: n × d | {' | '.join(LAYERS)} |",
            "|---|" + "--:|" * len(LAYERS),
        ]
        for n, d in dict.fromkeys([*over_n, *over_d]):
            cells = [
                _number(_figure(result, layer, n, d)[key] / unit) if _is_known(layer, key) else "–"
                for layer in LAYERS
            ]
            lines.append(f"| {n} × {d} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _is_known(layer: str, key: str) -> bool:
    return key != "memory_bytes" or layer not in SMALL_PIECES


def _both(found: dict[str, float | None]) -> tuple[float | None, float | None]:
    return found["layer"], found.get("attending")


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _figure(result: dict[str, Any], layer: str, n: int, d: int) -> dict[str, Any]:
    return next(e for e in result["layers"][layer] if (e["n"], e["d"]) == (n, d))


def plot(result: dict[str, Any], over_n: Sequence[Size], over_d: Sequence[Size], path: str) -> None:
    """Time above, memory below; over n on the left, over d on the right."""
    from keras_transformer.plots.figure import new_figure, save_figure

    figure = new_figure("benchmarks.table1", width=8.5, height=6.5)
    grid = figure.subplots(2, 2)
    for row, (key, unit, label) in enumerate(
        (("seconds", 1.0, "CPU seconds"), ("memory_bytes", 2**20, "memory, MiB"))
    ):
        for column, (axis, sizes) in enumerate((("n", over_n), ("d", over_d))):
            axes = grid[row][column]
            fixed = f"d = {sizes[0][1]}" if axis == "n" else f"n = {sizes[0][0]}"
            for layer in LAYERS:
                found = [_figure(result, layer, *size) for size in sizes]
                # The allocator counts large pieces: less than this is not known.
                known = [
                    e
                    for e in found
                    if _is_known(layer, key) and (key == "seconds" or e[key] >= SMALLEST_GROWTH)
                ]
                colour = COLOURS[layer]
                along, values = [e[axis] for e in known], [e[key] / unit for e in known]
                axes.plot(along, values, color=colour, marker="o", markersize=4)
                power, last = result["table1"][layer][axis], found[-1]
                every = [e[axis] for e in found]
                if key == "seconds":
                    guide = [last[key] / unit * (x / last[axis]) ** power for x in every]
                    axes.plot(every, guide, color=colour, linestyle="--", linewidth=1)
                else:
                    counted = [e["kept_bytes"] / unit for e in found]
                    axes.plot(every, counted, color=colour, linestyle=":", linewidth=1.2)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.set_xticks([size[column] for size in sizes])
            axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0f}")
            axes.set_xlabel(f"{axis}   ({fixed})")
            axes.set_ylabel(label)
            axes.grid(alpha=0.3)
    _legend(figure, result)
    save_figure(figure, path, "benchmarks.table1")


def _legend(figure: Any, result: dict[str, Any]) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D(
            [],
            [],
            color=COLOURS[layer],
            marker="o",
            markersize=4,
            label=f"{layer}, {result['table1'][layer]['complexity']}",
        )
        for layer in LAYERS
    ]
    entries += [
        Line2D([], [], color="#666666", linestyle="--", label="the table's growth"),
        Line2D([], [], color="#666666", linestyle=":", label="bytes counted"),
    ]
    figure.legend(handles=entries, loc="outside upper center", ncols=3, frameon=False)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.table1",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    parser.add_argument("--rounds", type=positive, help="turns of each layer (3; quick: 1)")
    parser.add_argument(
        "--folder", type=Path, default=REPOSITORY / ".cache/table1", help="where results go"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
