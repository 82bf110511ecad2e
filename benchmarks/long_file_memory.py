"""Resident memory while a long file is decoded: it must not grow with the number of lines.

    python -m benchmarks.long_file_memory --lines=1000000

Makes a file of short lines, decodes it to another with a small random model in a process of its
own, kills that process without warning at half the file, and lets a second one go on to the end.
Prints both processes' resident memory as they go. At the end every output line must be that of its
input line.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

LINES = ("one", "two", "three four", "five")  # the file is these, again and again
REPORTS = 10
SECONDS_BETWEEN_LOOKS = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=100_000, help="of the file")
    parser.add_argument("--decode", nargs=2, metavar=("SOURCE", "TARGET"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.decode:
        decode(*args.decode)
        return
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        with source.open("w", encoding="utf-8") as stream:
            stream.writelines(f"{LINES[number % 4]}\n" for number in range(args.lines))
        watch(source, target, args.lines, kill_at=args.lines // 2)
        watch(source, target, args.lines)
        check(target, args.lines)


def decode(source: str, target: str) -> None:
    """What the watched processes do."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    import keras

    import keras_transformer as kt
    from keras_transformer.decoding.decode_file import decode_file
    from keras_transformer.decoding.options import DecodeOptions
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.text.subword_encoder import SubwordTextEncoder

    keras.utils.set_random_seed(1)
    encoder = SubwordTextEncoder.learn(["one two three four five"] * 9, target_size=60)
    model = kt.Transformer(
        encoder.vocab_size,
        encoder.vocab_size,
        hidden_size=16,
        filter_size=16,
        num_heads=1,
        encoder_layers=1,
        decoder_layers=1,
    )
    options = DecodeOptions(beam_size=1, extra_length=0, batch_size=512)
    decode_file(Translator([[model]], encoder, encoder), source, target, options)


def watch(source: Path, target: Path, lines: int, kill_at: int | None = None) -> None:
    """Decodes in a process of its own and prints what it occupies; ends it where it is told to."""
    command = [sys.executable, "-m", "benchmarks.long_file_memory"]
    child = subprocess.Popen([*command, "--decode", str(source), str(target)])
    process, started = psutil.Process(child.pid), time.monotonic()
    written = Written(target.with_name(f"{target.name}.partial"))
    before = written.lines()
    highest, next_report = 0, 0
    while child.poll() is None:
        time.sleep(SECONDS_BETWEEN_LOOKS)
        try:
            highest = max(highest, process.memory_info().rss)
        except psutil.Error:  # it ended meanwhile
            break
        done = written.lines()
        if done > before and done >= next_report:
            report(done, highest, started)
            next_report = done - done % max(1, lines // REPORTS) + lines // REPORTS
        if kill_at is not None and done >= kill_at:
            child.kill()
    status = child.wait()
    if status != (0 if kill_at is None else -signal.SIGKILL):
        raise SystemExit(f"the decoding process ended with status {status}")
    done = lines if kill_at is None else written.lines()
    report(done, highest, started, "done" if kill_at is None else "killed")


class Written:
    """How many lines a growing file has, read on from where the last look ended."""

    def __init__(self, path: Path) -> None:
        self._path, self._place, self._lines = path, 0, 0

    def lines(self) -> int:
        if self._path.exists():
            with self._path.open("rb") as stream:
                stream.seek(self._place)
                while block := stream.read(1 << 20):
                    self._place += len(block)
                    self._lines += block.count(b"\n")
        return self._lines


def report(lines: int, highest: int, started: float, what: str = "goes on") -> None:
    figures = {
        "lines": lines,
        "highest_resident_mib": highest >> 20,
        "seconds": round(time.monotonic() - started, 1),
    }
    print(json.dumps({**figures, "process": what}), flush=True)


def check(target: Path, lines: int) -> None:
    """Every output is that of its line, and there is one for each."""

    def outputs() -> Iterator[str]:
        with target.open(encoding="utf-8", newline="\n") as stream:
            yield from stream

    first = [line for line, _ in zip(outputs(), LINES, strict=False)]
    count = 0
    for count, line in enumerate(outputs(), start=1):
        if line != first[(count - 1) % 4]:
            raise SystemExit(f"line {count} of the output is not that of its input")
    if count != lines:
        raise SystemExit(f"the output has {count} lines for {lines} of the input")
    print(json.dumps({"lines": count, "every_line_right": True}))


if __name__ == "__main__":
    main()
