"""Speed and memory of decoding.

    python benchmarks/decoding.py                       # tokens per core-second by batch size
    python benchmarks/decoding.py --lines=1000000       # memory over a long file

The first measures the search of a random model of the size of `--hparams` on one thread: CPU
seconds of this process, the best of `--repeats`, which holds up on a machine that others use too.
Tokens are output subtokens of the best hypothesis; every output has `--length` of them, as a random
model does not end by itself. `of_product` is the share of the arithmetic of the decoder that one
large float32 product reaches in the same process.

The second decodes a made file of one-word lines with a small random model and prints the resident
memory as it goes: it must not grow with the number of lines.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import tensorflow as tf

import keras_transformer as kt
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.search_graph import SearchGraph


def best_seconds(run: Callable[[], Any], repeats: int) -> float:
    """CPU seconds of the fastest of `repeats` runs, after one that is not counted."""
    run()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def product_speed(repeats: int) -> float:
    """Floating-point operations per second of a large float32 product."""
    left, right = tf.random.normal([1024, 1024]), tf.random.normal([1024, 4096])
    product = tf.function(lambda: tf.matmul(left, right))
    return 2 * 1024 * 1024 * 4096 / best_seconds(product, repeats)


def speeds(args: argparse.Namespace) -> None:
    """Prints a JSON object for each batch size."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    hp = kt.hparams(args.hparams, f"activation_dtype={args.dtype}")
    model = kt.Transformer.from_hparams(hp, args.vocab_size, args.vocab_size)
    decoder_weights = sum(
        int(np.prod(weight.shape))
        for name, weight in model.named_weights().items()
        if (name.startswith("decoder/") and name.endswith("/kernel"))
        or (name.startswith(("shared_embedding", "softmax")))
    )
    peak = product_speed(args.repeats)
    graph = SearchGraph([model])
    options = DecodeOptions(beam_size=args.beam_size)
    random = np.random.default_rng(1)
    for sentences in args.batch_sizes:
        inputs = random.integers(2, args.vocab_size, (sentences, args.length)).astype("int32")
        limits = [args.length] * sentences
        seconds = best_seconds(lambda: graph.search(inputs, limits, options), args.repeats)  # noqa: B023
        tokens = sentences * args.length
        operations = 2 * decoder_weights * tokens * args.beam_size
        report = {
            "batch": sentences,
            "beam": args.beam_size,
            "dtype": args.dtype,
            "tokens_per_core_second": round(tokens / seconds, 1),
            "of_product": round(operations / seconds / peak, 3),
        }
        print(json.dumps(report), flush=True)


def memory(args: argparse.Namespace) -> None:
    """Prints resident memory while a file of `--lines` lines is decoded."""
    import psutil

    from keras_transformer.decoding.decode_file import decode_stream
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.text.subword_encoder import SubwordTextEncoder

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
    translator = Translator([[model]], encoder, encoder)
    process, started = psutil.Process(), time.monotonic()
    options = DecodeOptions(beam_size=1, extra_length=0, batch_size=512)

    def lines() -> Any:
        for number in range(args.lines):
            if number % max(1, args.lines // 10) == 0:
                report = {
                    "lines": number,
                    "resident_mib": process.memory_info().rss >> 20,
                    "seconds": round(time.monotonic() - started, 1),
                }
                print(json.dumps(report), flush=True)
            yield ("one", "two", "three four", "five")[number % 4]

    with tempfile.TemporaryFile("w") as output:
        decode_stream(translator, lines(), output, options)
    print(json.dumps({"lines": args.lines, "resident_mib": process.memory_info().rss >> 20}))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hparams", default="base", help="named set")
    parser.add_argument("--vocab_size", type=int, default=32000, help="entries, both sides")
    parser.add_argument("--dtype", default="float32", help="activation dtype")
    parser.add_argument("--beam_size", type=int, default=4, help="hypotheses kept")
    parser.add_argument("--length", type=int, default=25, help="subtokens of inputs and outputs")
    parser.add_argument("--batch_sizes", type=int, nargs="+", default=[1, 8, 32], help="sentences")
    parser.add_argument("--repeats", type=int, default=3, help="runs, of which the best counts")
    parser.add_argument("--lines", type=int, default=0, help="measure memory over so many lines")
    args = parser.parse_args()
    if args.lines:
        memory(args)
    else:
        speeds(args)


if __name__ == "__main__":
    main()
