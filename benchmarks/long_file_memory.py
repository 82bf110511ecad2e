"""Resident memory while a long file is decoded: it must not grow with the number of lines.

    python -m benchmarks.long_file_memory --lines=1000000

Decodes a made file of one-word lines with a small random model and prints the resident memory as
it goes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import psutil

import keras_transformer as kt
from keras_transformer.decoding.decode_file import decode_stream
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.translator import Translator
from keras_transformer.text.subword_encoder import SubwordTextEncoder

REPORTS = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=100_000, help="of the file")
    count = parser.parse_args().lines
    encoder = SubwordTextEncoder.learn(["one two three four five"] * 9, target_size=60)
    model = kt.Transformer(
        encoder.vocab_size,
        encoder.vocab_size,
        hidden_size=8,
        filter_size=8,
        num_heads=1,
        encoder_layers=1,
        decoder_layers=1,
    )
    process, started = psutil.Process(), time.monotonic()

    def report(number: int) -> None:
        figures = {
            "lines": number,
            "resident_mib": process.memory_info().rss >> 20,
            "seconds": round(time.monotonic() - started, 1),
        }
        print(json.dumps(figures), flush=True)

    def lines() -> Iterator[str]:
        for number in range(count):
            if number % max(1, count // REPORTS) == 0:
                report(number)
            yield ("one", "two", "three four", "five")[number % 4]

    options = DecodeOptions(beam_size=1, extra_length=0, batch_size=512)
    with tempfile.TemporaryFile("w") as output:
        decode_stream(Translator([[model]], encoder, encoder), lines(), output, options)
    report(count)


if __name__ == "__main__":
    main()
