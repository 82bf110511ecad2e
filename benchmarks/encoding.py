"""Speed of the subword encoder on one core: learning a vocabulary, encoding, decoding.

    python benchmarks/encoding.py --text=corpus.en.gz --text=corpus.de.gz
    python benchmarks/encoding.py --text=corpus.en.gz --t2t_python=/path/to/t2t/bin/python

Times are CPU seconds of the measuring process, which hold up on a machine that others use too.
With `--t2t_python`, the Python of an environment with tensor2tensor 1.15.7, the same work is
measured there, turn by turn, and it is checked that both give the same ids; without it
Tensor2Tensor is left out and named as left out. "encode" meets each text for the first time,
"again" has its words in the cache.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("encoding_worker.py")
REPOSITORY = WORKER.parent.parent
OURS = "keras_transformer"
T2T = "tensor2tensor"
# Measure: heading in the table, whether more is better.
MEASURES = {
    "learn_seconds": ("learn s", False),
    "encode_lines_per_second": ("encode lines/s", True),
    "encode_again_lines_per_second": ("again lines/s", True),
    "decode_lines_per_second": ("decode lines/s", True),
}


def measure(library: str, python: str, text: str, args: argparse.Namespace) -> dict[str, Any]:
    """One run in a fresh process."""
    job = {
        "library": library,
        "text": os.path.abspath(text),
        "max_lines": args.max_lines,
        "target_size": args.target_size,
    }
    one_thread = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    environment = {**os.environ, **one_thread, "CUDA_VISIBLE_DEVICES": "-1"}
    if library == OURS:
        environment["PYTHONPATH"] = str(REPOSITORY)
    done = subprocess.run(
        [python, str(WORKER), json.dumps(job)],
        env=environment,
        cwd=WORKER.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{library} failed under {python}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(text: str, pythons: dict[str, str], args: argparse.Namespace) -> dict[str, Any]:
    """Medians of all libraries for one text, and medians of the ratios of each turn."""
    runs: dict[str, list[dict[str, Any]]] = {library: [] for library in pythons}
    for _ in range(args.repeats):
        for library, python in pythons.items():
            runs[library].append(measure(library, python, text, args))
    first = runs[OURS][0]
    for library in pythons:
        for run in runs[library]:
            if run["checksum"] != first["checksum"] or not run["round_trip"]:
                raise SystemExit(f"{text}: {library} gives other ids or other text")
    report: dict[str, Any] = {
        "text": text,
        "lines": first["lines"],
        "ids": first["ids"],
        "vocab_size": first["vocab_size"],
    }
    for library in pythons:
        report[library] = {
            name: statistics.median(run[name] for run in runs[library]) for name in MEASURES
        }
    if T2T in pythons:
        report["times_as_fast"] = {
            name: statistics.median(
                ours[name] / theirs[name] if more else theirs[name] / ours[name]
                for ours, theirs in zip(runs[OURS], runs[T2T], strict=True)
            )
            for name, (_, more) in MEASURES.items()
        }
    return report


def print_table(reports: list[dict[str, Any]], left_out: list[str]) -> None:
    print(f"{'':28}" + "".join(f"{heading:>16}" for heading, _ in MEASURES.values()))
    for report in reports:
        print(
            f"{report['text']}: {report['lines']} lines, {report['ids']} subtokens of "
            f"{report['vocab_size']}"
        )
        for row in (OURS, T2T, "times_as_fast"):
            if row in report:
                digits = 2 if row == "times_as_fast" else 1
                values = "".join(f"{report[row][name]:16,.{digits}f}" for name in MEASURES)
                print(f"  {row.replace('_as_', ' as '):26}{values}")
    for name in left_out:
        print(f"left out: {name} (name its Python with --t2t_python)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--text", action="append", required=True, help="UTF-8 text, plain or .gz; may be repeated"
    )
    parser.add_argument("--max_lines", type=int, default=50_000, help="lines taken of each text")
    parser.add_argument("--target_size", type=int, default=8192, help="wanted vocabulary size")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the median is shown")
    parser.add_argument("--t2t_python", help="Python of an environment with tensor2tensor 1.15.7")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    args = parser.parse_args()
    pythons = {OURS: sys.executable}
    if args.t2t_python:
        pythons[T2T] = args.t2t_python
    left_out = [] if args.t2t_python else [T2T]
    reports = [compare(text, pythons, args) for text in args.text]
    if args.json:
        print(json.dumps({"texts": reports, "left_out": left_out}))
    else:
        print_table(reports, left_out)


if __name__ == "__main__":
    main()
