"""Speed of the model alone on one core: one training step's gradients, and decoding steps.

    python benchmarks/model_step.py --hparams=base --dtype=float32,bfloat16

Times are CPU seconds of this process on one thread, which hold up on a machine that others use
too; each figure is the best of `--repeats`. `tokens` are source and target positions together.
`of_product` is the share of the arithmetic that one large float32 product reaches in the same
process: 1 would mean that nothing but products of that speed was done.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import keras
import numpy as np
import tensorflow as tf

import keras_transformer as kt
from keras_transformer.training.loss import padded_cross_entropy


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


def batch_of(sentences: int, length: int, vocab_size: int) -> dict[str, tf.Tensor]:
    """Sentences like those of one length bucket: from 0.8 of its length to all of it."""
    random = np.random.default_rng(1)
    ids = random.integers(2, vocab_size, (2, sentences, length))
    lengths = random.integers(int(0.8 * length), length + 1, (2, sentences, 1))
    ids = np.where(np.arange(length) < lengths, ids, 0).astype("int32")
    return {"inputs": tf.constant(ids[0]), "targets": tf.constant(ids[1])}


def operations(model: kt.Transformer, sentences: int, length: int) -> float:
    """Floating-point operations of one forward pass: products with weights, and attention."""
    rows = sentences * length
    total = 0.0
    for name, weight in model.named_weights().items():
        softmax = name in ("shared_embedding/weights", "softmax/weights")
        if softmax or name.endswith("/kernel"):
            total += 2 * rows * weight.shape[0] * weight.shape[1]
    config = model.get_config()
    widths = 2 * (config["key_width"] or config["hidden_size"])
    attentions = config["encoder_layers"] + 2 * config["decoder_layers"]
    return total + attentions * 2 * rows * length * widths


def measure(dtype: str, args: argparse.Namespace, peak: float) -> dict[str, Any]:
    """The figures of one dtype."""
    keras.utils.set_random_seed(1)
    hp = kt.hparams(args.hparams, f"activation_dtype={dtype}")
    model = kt.Transformer.from_hparams(hp, args.vocab_size, args.vocab_size)
    batch = batch_of(args.sentences, args.length, args.vocab_size)
    tokens = 2 * args.sentences * args.length
    forward = operations(model, args.sentences, args.length)
    weights = [variable.value for variable in model.trainable_variables]

    @tf.function(autograph=False)
    def loss(batch: dict[str, tf.Tensor], training: bool) -> tf.Tensor:
        logits = model(batch, training=training)
        total, count = padded_cross_entropy(logits, batch["targets"], 0.1 if training else 0.0)
        return total / count

    @tf.function(autograph=False)
    def gradients(batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            value = loss({**batch, "dropout_seed": tf.constant([1, 2])}, True)
        return value, tape.gradient(value, weights)

    seconds = {
        "training": best_seconds(lambda: gradients(batch), args.repeats),
        "forward": best_seconds(lambda: loss(batch, False), args.repeats),
    }
    report: dict[str, Any] = {"dtype": dtype, "loss": float(gradients(batch)[0])}
    for name, factor in (("training", 3), ("forward", 1)):
        report[f"{name}_tokens_per_second"] = tokens / seconds[name]
        report[f"{name}_of_product"] = factor * forward / seconds[name] / peak
    for sentences in args.decode_batches:
        report[f"decode_{sentences}_tokens_per_second"] = decoding_speed(model, sentences, args)
    return report


def decoding_speed(model: kt.Transformer, sentences: int, args: argparse.Namespace) -> float:
    """Target positions per second of beam search with 4 beams, end of sentence included."""
    inputs = batch_of(sentences, args.length, args.vocab_size)["inputs"]
    steps = args.length

    def run() -> Any:
        return model.decode(inputs, beam_size=4, decode_length=steps, top_beams=1)

    return sentences * steps / best_seconds(run, max(2, args.repeats // 2))


def main() -> None:
    """Prints one JSON object for each dtype."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hparams", default="base", help="named set")
    parser.add_argument("--vocab_size", type=int, default=32000, help="entries, both sides")
    parser.add_argument("--sentences", type=int, default=32, help="sentences of a training batch")
    parser.add_argument("--length", type=int, default=28, help="positions of each side")
    parser.add_argument("--dtype", default="float32", help="activation dtypes, commas between")
    parser.add_argument("--repeats", type=int, default=5, help="runs, of which the best counts")
    parser.add_argument(
        "--decode_batches", type=int, nargs="*", default=[1, 8], help="sentences decoded at once"
    )
    args = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    peak = product_speed(args.repeats)
    print(json.dumps({"product_gflops": round(peak / 1e9, 1)}))
    for dtype in args.dtype.split(","):
        report = measure(dtype, args, peak)
        print(
            json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in report.items()})
        )


if __name__ == "__main__":
    main()
