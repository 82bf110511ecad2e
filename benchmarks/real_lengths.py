"""Against CTranslate2 with real, unequal lengths: a small trained model on base's shape.

    python -m benchmarks.real_lengths --output_dir=runs/tatoeba-averaged --source=dev.en

Random weights end their outputs nowhere in particular, and a small model is made of the costs of
single operations. So a trained model of half of base's width is spread over base's shape in a way
that keeps its outputs: every number of its states appears twice, kernels are tiled and halved,
further layers add zero, entries that the vocabulary lacks are copies of padding's. Prints, for
batches of like length and for sentences one by one, sentences per CPU second of kt-decoder's
search and of CTranslate2 in float32, in turn, of each batch the shortest of some rounds.

The model must be pre-norm, with one table for both languages and sines for positions
(`--hparams=small`). TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1 measures frozen weights; in float32 with
`--sentences=0`, since the packing that a batch leaves behind is the wrong one for single sentences.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ENTRIES = 32000
POSITIONS = 128
BATCH = 32


def widen(name: str, shape: tuple[int, ...], weights: Mapping[str, np.ndarray]) -> np.ndarray:
    """A weight of the wide model, from the weights of one half as wide.

    Args:
        name: as in `Transformer.named_weights`.
        shape: of the wide model's weight.
        weights: the other model's.
    """
    if name.endswith("positional_embedding/weights"):
        return np.tile(signal(shape[0], shape[1] // 2), (1, 2))
    value = weights.get(name)
    if value is None:  # of a further layer, which adds nothing
        is_norm = "layer_norm" in name and name.endswith("scale")
        return np.ones(shape, "float32") if is_norm else np.zeros(shape, "float32")
    if name.startswith("target_space"):
        return np.tile(value, (1, 2))
    if name.endswith("embedding/weights"):  # lookups are multiplied by the root of the width
        padding = np.repeat(value[:1], shape[0] - len(value), axis=0)
        return np.tile(np.concatenate([value, padding]), (1, 2)) / np.sqrt(2)
    if value.ndim == 2:
        return np.tile(value, (2, 2)) / 2
    # The softmax sums twice as many products with a table divided by the root of two.
    return np.tile(value, 2) / (np.sqrt(2) if name.startswith("decoder/final_layer_norm") else 1)


def signal(positions: int, width: int) -> np.ndarray:
    """The sines and cosines of the narrow model."""
    import tensorflow as tf

    from keras_transformer.layers.position import timing_signal

    values: np.ndarray = timing_signal(tf.range(positions), width).numpy()
    return values


def wide_run(narrow: Any, folder: Path, dtype: str) -> Path:
    """A run directory of base's shape with the outputs of the loaded run `narrow`."""
    import keras_transformer as kt
    from keras_transformer.run_dir import RunDir
    from keras_transformer.training import checkpoints

    (vocabulary,) = narrow.run.path.glob("vocab.*")
    lines = vocabulary.read_text("utf-8").rstrip("\n").split("\n")
    lines += [f"'zqx{number:05d}_'" for number in range(ENTRIES - len(lines))]
    (folder / "data").mkdir()
    (folder / "data" / vocabulary.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    hp = kt.hparams("transformer_base", f"pos=emb,max_length={POSITIONS},activation_dtype={dtype}")
    run = folder / "run"
    RunDir.create(run, hp, narrow.run.problem, folder / "data", "transformer_base")
    model = kt.Transformer.from_hparams(hp, ENTRIES, ENTRIES)
    weights = {name: weight.numpy() for name, weight in narrow.models[0][0].named_weights().items()}
    named = model.named_weights()
    if unknown := set(weights) - set(named):
        raise SystemExit(f"not of the shape that can be spread: {sorted(unknown)[0]}")
    for name, weight in named.items():
        weight.assign(widen(name, tuple(weight.shape), weights))
    checkpoints.save(run, 1, named)
    return run


def compare(
    contestants: Mapping[str, Callable[[Sequence[str]], list[str]]],
    batches: Sequence[Sequence[str]],
    rounds: int,
) -> dict[str, float]:
    """CPU seconds of each for all batches."""
    for translate in contestants.values():
        translate(batches[0])
    best = {name: [float("inf")] * len(batches) for name in contestants}
    for _ in range(rounds):
        for place, batch in enumerate(batches):
            for name, translate in contestants.items():
                start = time.process_time()
                translate(batch)
                best[name][place] = min(best[name][place], time.process_time() - start)
    return {name: sum(seconds) for name, seconds in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output_dir", required=True, help="run directory of the trained model")
    parser.add_argument("--source", required=True, help="sentences, one a line")
    parser.add_argument("--sentences", type=int, default=64, help="how many, in batches; 0: none")
    parser.add_argument("--alone", type=int, default=8, help="how many one by one")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--alpha", type=float, default=0.6)
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    args = parser.parse_args()

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["OMP_NUM_THREADS"] = "1"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    from keras_transformer.decoding.loading import load_models
    from keras_transformer.decoding.options import DecodeOptions
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.export import ctranslate2_model
    from keras_transformer.export.ctranslate2_outputs import CTranslate2Outputs
    from keras_transformer.text.lines import read_lines

    sources = list(read_lines(args.source))[: args.sentences or args.alone]
    at_once = [sources] if args.sentences else [[source] for source in sources]
    options = DecodeOptions(alpha=args.alpha)
    narrow = load_models(args.output_dir)
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_models(wide_run(narrow, Path(folder), args.dtype))
        translator = Translator.of_loaded(loaded)
        ctranslate2_model.save(loaded, Path(folder) / "ctranslate2")
        model = CTranslate2Outputs(Path(folder) / "ctranslate2", translator, "float32", 1)
        contestants: dict[str, Callable[[Sequence[str]], list[str]]] = {
            args.dtype: lambda lines: texts(translator.translate(list(lines), options)),
            "CTranslate2 float32": lambda lines: model.texts(lines, options, own_limits=False),
        }
        of_narrow = texts(Translator.of_loaded(narrow).translate(sources, options))
        outputs = {
            name: [text for some in at_once for text in translate(some)]
            for name, translate in contestants.items()
        }
        lengths = [len(each.ids) for each in translator.encode(outputs[args.dtype], options)]
        print(f"outputs of {np.mean(lengths):.1f} subtokens, {min(lengths)} to {max(lengths)}")
        for name, found in outputs.items():
            same = sum(a == b for a, b in zip(found, of_narrow, strict=True))
            print(f"{name}: {same} of {len(sources)} as the model itself says them")
        ordered = sorted(sources, key=len)
        in_batches = [ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH)]
        alone = [[source] for source in sources[: args.alone]]
        parts = {f"batches of {BATCH}": in_batches} if args.sentences else {}
        for title, batches in {**parts, "one by one": alone}.items():
            count = sum(map(len, batches))
            seconds = compare(contestants, batches, args.rounds)
            rates = ", ".join(f"{name} {count / spent:.2f}" for name, spent in seconds.items())
            mine, theirs = seconds.values()
            print(f"{title}: {rates} sentences a CPU second; {theirs / mine:.2f} times", flush=True)


def texts(translations: Sequence[Any]) -> list[str]:
    return [each.text for each in translations]


if __name__ == "__main__":
    sys.exit(main())
