"""An exported model against kt-decoder: the same text? how large? how fast? and in CTranslate2?

    python -m benchmarks.export --output_dir=runs/ende --source=test.en --reference=test.de

Exports the model with every type of weights and for CTranslate2, translates the source with each,
and prints a Markdown table: outputs equal to kt-decoder's, BLEU (cased, as t2t-bleu), size on the
disk, and sentences per second, in batches of 32 of like length and one by one. Then the agreement
with CTranslate2 by search, and the CPU time of the SavedModel over that of kt-decoder, batch by
batch in turn, which other work on the machine hardly changes. `--only` does one of the parts,
`--threads` is the number of cores each may use.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

BATCH = 32
ONE_BY_ONE = 30  # sentences measured one by one
PARTS = ("saved_model", "ctranslate2", "agreement", "cpu_time")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output_dir", required=True, help="run directory")
    parser.add_argument("--source", required=True, help="sentences, one a line")
    parser.add_argument("--reference", required=True, help="their reference")
    parser.add_argument("--sentences", type=int, default=1000, help="how many of them")
    parser.add_argument("--threads", type=int, default=1, help="cores")
    parser.add_argument("--checkpoint_path", help="instead of the latest")
    parser.add_argument("--only", choices=PARTS, help="one part instead of all")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the CPU times")
    args = parser.parse_args()

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    from keras_transformer.decoding.loading import load_models
    from keras_transformer.text.lines import read_lines

    sources = list(read_lines(args.source))[: args.sentences]
    references = list(read_lines(args.reference))[: args.sentences]
    loaded = load_models(args.output_dir, args.checkpoint_path)
    with tempfile.TemporaryDirectory() as folder:
        wanted: list[str] | None = None
        if args.only in (None, "saved_model"):
            wanted = saved_models(loaded, sources, references, Path(folder))
        if args.only in (None, "ctranslate2"):
            in_ctranslate2(loaded, sources, references, Path(folder), args.threads, wanted)
        if args.only in (None, "agreement"):
            agreement(loaded, sources, references, Path(folder), args.threads)
        if args.only in (None, "cpu_time"):
            cpu_time(loaded, sources, Path(folder), args.rounds)


def saved_models(loaded: Any, sources: list[str], references: list[str], folder: Path) -> list[str]:
    """The table of SavedModels; gives kt-decoder's outputs back."""
    from keras_transformer.export.weights import WEIGHT_TYPES

    wanted = row("kt-decoder", by_kt_decoder(loaded), sources, references, heading=True)
    for kind in WEIGHT_TYPES:
        translate = by_saved_model(loaded, folder / kind, kind)
        row(f"SavedModel {kind}", translate, sources, references, wanted, folder / kind)
    return wanted


def by_kt_decoder(loaded: Any) -> Callable[[Sequence[str]], list[str]]:
    from keras_transformer.decoding.translator import Translator

    translator = Translator.of_loaded(loaded)
    return lambda lines: [each.text for each in translator.translate(list(lines))]


def by_saved_model(loaded: Any, path: Path, kind: str) -> Callable[[Sequence[str]], list[str]]:
    """Exports the model and loads it."""
    import tensorflow as tf

    from keras_transformer.decoding.options import DecodeOptions
    from keras_transformer.export import saved_model

    model = saved_model.serving_model(loaded, DecodeOptions(), kind)
    saved_model.save(model, model.signatures(), path, {}, {})
    function = tf.saved_model.load(str(path)).signatures["serving_default"]

    def translate(lines: Sequence[str]) -> list[str]:
        outputs = function(inputs=tf.constant(list(lines)))["outputs"].numpy()
        return [text.decode("utf-8") for text in outputs]

    return translate


def cpu_time(loaded: Any, sources: list[str], folder: Path, rounds: int) -> None:
    """The SavedModel's CPU time over kt-decoder's; of each batch the shortest of some rounds."""
    mine, theirs = by_kt_decoder(loaded), by_saved_model(loaded, folder / "timed", "float32")
    print("\n| batches of | sentences | kt-decoder, CPU s | SavedModel, CPU s | ratio |")
    print("| --- | --- | --- | --- | --- |")
    ordered = sorted(sources, key=len)
    for size in (BATCH, 1):
        lines = ordered if size > 1 else sources[:ONE_BY_ONE]
        batches = [lines[start : start + size] for start in range(0, len(lines), size)]
        in_turn = (mine, theirs)
        for translate in in_turn:
            translate(batches[0])
        best = [[float("inf")] * 2 for _ in batches]
        for _ in range(rounds):
            for batch, shortest in zip(batches, best, strict=True):
                for place, translate in enumerate(in_turn):
                    shortest[place] = min(shortest[place], cpu_seconds(translate, batch))
        seconds = [sum(shortest[place] for shortest in best) for place in range(2)]
        print(
            f"| {size} | {len(lines)} | {seconds[0]:.2f} | {seconds[1]:.2f} |"
            f" {seconds[1] / seconds[0]:.2f} |",
            flush=True,
        )


def cpu_seconds(translate: Callable[[Sequence[str]], list[str]], lines: Sequence[str]) -> float:
    start = time.process_time()
    translate(lines)
    return time.process_time() - start


def in_ctranslate2(
    loaded: Any,
    sources: list[str],
    references: list[str],
    folder: Path,
    threads: int,
    wanted: list[str] | None,
) -> None:
    """CTranslate2 in the same table."""
    from keras_transformer.decoding.options import DecodeOptions
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.export import ctranslate2_model
    from keras_transformer.export.ctranslate2_outputs import CTranslate2Outputs

    translator = Translator.of_loaded(loaded)
    heading = wanted is None
    wanted = wanted or by_kt_decoder(loaded)(sources)
    for kind in ("float32", "int8"):
        path = folder / f"ctranslate2-{kind}"
        ctranslate2_model.save(loaded, path, kind)
        model = CTranslate2Outputs(path, translator, kind, threads)

        def translate(lines: Sequence[str], model: Any = model) -> list[str]:
            return model.texts(lines, DecodeOptions(), own_limits=False)

        name = f"CTranslate2 {kind}"
        row(name, translate, sources, references, wanted, path, heading and kind == "float32")


def agreement(
    loaded: Any, sources: list[str], references: list[str], folder: Path, threads: int
) -> None:
    """Outputs equal to CTranslate2's in float32, by search."""
    from keras_transformer.decoding.options import DecodeOptions
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.export import ctranslate2_model
    from keras_transformer.export.ctranslate2_outputs import CTranslate2Outputs

    translator = Translator.of_loaded(loaded)
    ctranslate2_model.save(loaded, folder / "compared")
    model = CTranslate2Outputs(folder / "compared", translator, "float32", threads)
    print("\n| beam | alpha | ending rule | the same outputs | BLEU here | BLEU in CTranslate2 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for beam_size, alpha, rule in (
        (1, 0.0, "tensor2tensor"),
        (4, 0.0, "tensor2tensor"),
        (4, 0.0, "ctranslate2"),
        (4, 0.6, "tensor2tensor"),
        (4, 0.6, "ctranslate2"),
    ):
        options = DecodeOptions(beam_size=beam_size, alpha=alpha, ending_rule=rule)
        mine = [each.text for each in translator.translate(sources, options)]
        theirs = model.texts(sources, options)
        same = sum(a == b for a, b in zip(mine, theirs, strict=True))
        print(
            f"| {beam_size} | {alpha} | {rule} | {same} of {len(sources)} |"
            f" {bleu(mine, references):.2f} | {bleu(theirs, references):.2f} |",
            flush=True,
        )


def row(
    name: str,
    translate: Callable[[Sequence[str]], list[str]],
    sources: list[str],
    references: list[str],
    wanted: list[str] | None = None,
    path: Path | None = None,
    heading: bool = False,
) -> list[str]:
    """Translates, prints a row of the table, gives the outputs back."""
    if heading:
        print("| model | the same as kt-decoder | BLEU | MB | sentences/s by 32 | one by one |")
        print("| --- | --- | --- | --- | --- | --- |")
    in_batches(translate, sources[: 2 * BATCH])  # warms up
    seconds, outputs = timed(lambda: in_batches(translate, sources))
    few = sources[:ONE_BY_ONE]
    alone, _ = timed(lambda: [translate([line]) for line in few])
    same = sum(a == b for a, b in zip(outputs, wanted or outputs, strict=True))
    megabytes = ""
    if path is not None:
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        megabytes = f"{size / 1e6:.1f}"
    print(
        f"| {name} | {same} of {len(outputs)} | {bleu(outputs, references):.2f} | {megabytes} |"
        f" {len(sources) / seconds:.1f} | {len(few) / alone:.1f} |",
        flush=True,
    )
    return outputs


def in_batches(translate: Callable[[Sequence[str]], list[str]], sources: list[str]) -> list[str]:
    """Outputs in order, from batches of like length."""
    order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
    outputs = [""] * len(sources)
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        found = translate([sources[place] for place in places])
        for place, text in zip(places, found, strict=True):
            outputs[place] = text
    return outputs


def bleu(outputs: list[str], references: list[str]) -> float:
    from keras_transformer.scoring.bleu import score

    return score(outputs, references, "t2t_cased").score


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    sys.exit(main())
