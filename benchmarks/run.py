"""Measures training, decoding, encoding and layer types, against what is installed to compare.

    python -m benchmarks.run                          # the published figures, some minutes
    python -m benchmarks.run --quick                  # small sizes: does it all still run?
    python -m benchmarks.run --only=training,decoding --rounds=5
    benchmarks/peers.sh                               # installs the peers, once

Prints a table for each measure:

- rates per CPU second of the process, on one thread: per core-second; the median of the rounds;
- "of products": that rate against the one at which this machine does the model's matrix products
  alone, in TensorFlow, in the same type (int8: against float32), measured in the same rounds. For
  encoding: against the lines that a training at that rate would use up;
- "x peer": times as fast as that peer, the median of the ratios of the rounds;
- "time / plain": what an option of the trainer costs, CPU time of a token over the plain step's;
- the highest resident memory of the process, and how many times the weights in float32 it is.

`growth` compares nothing: it draws time and memory over the sizes of the work, see `growth.py`, and
writes `growth.md` and `growth.png` beside the JSON.

Everything, each round included, is written as JSON with the hardware and all versions.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import decoding, encoding, layer_types, machine, report, step_variants, training
from benchmarks.harness import REPOSITORY, ContestantError, Measure, compete
from benchmarks.settings import QUICK, Settings

MEASURES: dict[str, Callable[[Settings, Path], Measure]] = {
    "training": lambda settings, folder: training.measure(settings),
    "decoding": decoding.measure,
    "encoding": lambda settings, folder: encoding.measure(settings),
    "layers": lambda settings, folder: layer_types.measure(settings),
    "variants": lambda settings, folder: step_variants.measure(settings),
}
GROWTH = "growth"
ALL = [*MEASURES, GROWTH]


def main() -> int:
    args = arguments()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    settings = settings_of(args)
    rounds = args.rounds or (1 if args.quick else 3)
    here = machine.description()
    print(machine.in_words(here))
    print(f"{args.threads} thread(s), medians of {rounds} round(s)")
    results: dict[str, Any] = {}
    for name in args.only:
        start = time.perf_counter()
        try:
            if name == GROWTH:
                results[name] = grow(args)
            else:
                results[name] = contest(name, settings, rounds, args.threads)
        except ContestantError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
        print(f"took {time.perf_counter() - start:.0f} s", flush=True)
        # Written after each measure: one that fails does not take the others with it.
        write(args.json, {**here, "rounds": rounds, "threads": args.threads, "measures": results})
    print(f"\nwritten: {args.json}")
    return 0


def contest(name: str, settings: Settings, rounds: int, threads: int) -> dict[str, Any]:
    """Runs one of `MEASURES` and prints its table."""
    with tempfile.TemporaryDirectory() as folder:
        measure = MEASURES[name](settings, Path(folder))
        outcomes, left_out = compete(measure, rounds, threads, progress)
    print("\n" + report.table(measure, outcomes, left_out))
    return report.as_json(measure, outcomes, left_out)


def grow(args: argparse.Namespace) -> dict[str, Any]:
    """Measures the curves and writes them as tables and as a picture."""
    from benchmarks import growth

    results = growth.measure(args.quick, progress)
    table = growth.as_markdown(results)
    print("\n" + table)
    folder = args.json.parent
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "growth.md").write_text(table, encoding="utf-8")
    growth.draw(results, folder / "growth.png")
    return results


def progress(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def settings_of(args: argparse.Namespace) -> Settings:
    settings = QUICK if args.quick else Settings()
    given = {
        name: getattr(args, name)
        for name in ("hparams", "vocab_size", "text", "peers_dir")
        if getattr(args, name) is not None
    }
    return dataclasses.replace(settings, **given)


def write(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", type=names, default=ALL, help=f"of {', '.join(ALL)}; commas")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    parser.add_argument("--rounds", type=positive, help="turns of each contestant (3; quick: 1)")
    parser.add_argument("--threads", type=positive, default=1, help="of each process")
    parser.add_argument("--hparams", help="named set of the model (transformer_base)")
    parser.add_argument("--vocab_size", type=positive, help="entries, both sides (32000)")
    parser.add_argument("--text", type=existing, help="UTF-8 lines to encode, plain or .gz")
    parser.add_argument("--peers_dir", type=Path, help="environments that peers.sh made")
    parser.add_argument(
        "--json", type=Path, default=REPOSITORY / ".cache/benchmarks.json", help="results"
    )
    return parser.parse_args()


def names(text: str) -> list[str]:
    wanted = text.split(",")
    for name in wanted:
        if name not in ALL:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(ALL)}")
    return wanted


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def existing(text: str) -> Path:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    return Path(text)


if __name__ == "__main__":
    sys.exit(main())
