"""`kt-exporter`: a trained model → a SavedModel for any TensorFlow, or a CTranslate2 model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from keras_transformer.cli.decoding_flags import (
    add_model_flags,
    add_search_flags,
    decode_hparams,
    load_run,
    require_run_dir,
)
from keras_transformer.cli.log import show_log
from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from keras_transformer.decoding.loading import LoadedRun
    from keras_transformer.decoding.options import DecodeOptions

program = Program(
    "kt-exporter",
    "writes a trained model for serving. saved_model: text or ids in, text or ids and scores out,"
    " with tokenizer and beam search inside, on TensorFlow's own operations alone. ctranslate2: the"
    " model and its vocabularies for CTranslate2, a fast server for CPUs. What is exported appears"
    " whole or not at all, and its folder is printed.",
    examples=[
        "kt-exporter --output_dir=runs/ende",
        "kt-exporter --output_dir=runs/ende --export_dir=serving/ende/1 --beam_size=8",
        "kt-exporter --output_dir=runs/ende --weights=int8 --source=dev.en --reference=dev.de",
        "kt-exporter --output_dir=runs/ende --format=ctranslate2 --export_dir=serving/ende.ct2",
    ],
)
add_model_flags(program)
program.string(
    "checkpoint_path",
    None,
    "prefix of a checkpoint (…/model.ckpt-250000) instead of the latest; several with commas"
    " between make an ensemble that averages their probabilities (saved_model only)",
)
program.string(
    "export_dir",
    None,
    "folder to be written, exactly this; by default a new one in <output_dir>/export, named by the"
    " time in seconds as TensorFlow Serving wants its versions",
)
program.enum("format", "saved_model", ["saved_model", "ctranslate2"], "what to write")
program.enum(
    "weights",
    "float32",
    ["float32", "float16", "bfloat16", "int8"],
    "how weights are stored; for other than float32 the size and the change of BLEU are printed",
)
program.string("source", None, "sentences to translate for the change of BLEU, one a line")
program.string("reference", None, "their reference; by default the problem's dev split is taken")
program.string("tmp_dir", "", "where the problem's corpora lie, for its dev split")
program.integer("bleu_sentences", 500, "sentences to translate at most for the change of BLEU", 1)
add_search_flags(program)
program.ignored("as_text", "a SavedModel is written in binary form, which every server reads")
program.refused("export_as_tfhub", "a SavedModel is loaded by tensorflow_hub.load(export_dir)")


def run(flags: Flags) -> int | None:
    show_log()
    require_run_dir(flags)
    for name in ("batch_size", "n_best"):
        if getattr(flags, name) is not None:
            raise UserError(
                f"--{name} says nothing here: a served model takes any batch, and its signature"
                " `beams` gives all beam_size outputs; leave the flag out"
            )
    if bool(flags.source) != bool(flags.reference):
        raise UserError("--source and --reference belong together: give both or neither")
    options = decode_hparams(flags).options
    if options.constrain:
        raise UserError("an exported model searches freely: take constrain out of decode_hparams")
    path = _export_dir(flags)
    if flags.format == "ctranslate2":
        _export_ctranslate2(flags, path)
        return None
    loaded = load_run(flags, flags.checkpoint_path)

    from keras_transformer.export import saved_model

    model = saved_model.serving_model(loaded, options, flags.weights)
    if not model.takes_text:
        print(
            "kt-exporter: this problem's text cannot be handled inside a graph: the model takes and"
            " gives ids only",
            file=sys.stderr,
        )
    signatures = model.signatures()
    description = saved_model.describe(loaded, options, flags.weights, list(signatures))
    saved_model.save(model, signatures, path, _vocabularies(flags, loaded), description)
    print(path)
    if flags.weights != "float32" or flags.source:
        for line in _quality(flags, loaded, options, path):
            print(line)
    return None


def _export_dir(flags: Flags) -> Path:
    from pathlib import Path

    from keras_transformer.export.target_dir import check_target, numbered_dir

    base = Path(flags.output_dir, "export")
    return check_target(flags.export_dir or numbered_dir(base))


def _vocabularies(flags: Flags, loaded: LoadedRun) -> dict[str, Path | None]:
    return loaded.run.vocabulary_paths(
        flags.data_dir, flags.vocab_file, flags.source_vocab_file, flags.target_vocab_file
    )


def _export_ctranslate2(flags: Flags, path: Path) -> None:
    from keras_transformer.export import ctranslate2_model

    ctranslate2_model.require_ctranslate2()
    loaded = load_run(flags, flags.checkpoint_path)
    ctranslate2_model.save(loaded, path, flags.weights, _vocabularies(flags, loaded))
    print(path)


def _quality(flags: Flags, loaded: LoadedRun, options: DecodeOptions, path: Path) -> list[str]:
    """What the stored weights cost: size, BLEU and the share of outputs that stay the same."""
    from keras_transformer.export import saved_model
    from keras_transformer.scoring import bleu

    exact = saved_model.serving_model(loaded, options, "float32")
    stored = saved_model.serving_model(loaded, options, flags.weights)
    size, exact_size = (sum(w.num_bytes for w in m.weights) for m in (stored, exact))
    report = [f"weights   {flags.weights} {size / 1e6:.1f} MB, float32 {exact_size / 1e6:.1f} MB"]
    report.append(f"folder    {saved_model.folder_bytes(path) / 1e6:.1f} MB")
    if not stored.takes_text:
        return report
    sources, references = _scored_sentences(flags, loaded)
    if not sources:
        return [*report, "BLEU      not measured: give --source and --reference"]
    outputs = {"float32": saved_model.translate(exact, sources)}
    outputs[flags.weights] = saved_model.translate(stored, sources)
    scores = [
        f"{kind} {bleu.score(texts, references, 't2t_cased').score:.2f}"
        for kind, texts in reversed(outputs.items())
    ]
    same = sum(a == b for a, b in zip(outputs["float32"], outputs[flags.weights], strict=True))
    report.append(f"BLEU      {', '.join(scores)} (t2t_cased, {len(sources)} sentences)")
    return [*report, f"the same  {same} of {len(sources)} outputs"]


def _scored_sentences(flags: Flags, loaded: LoadedRun) -> tuple[list[str], list[str]]:
    from itertools import islice

    from keras_transformer.text.lines import read_lines

    if flags.source:
        sources, references = list(read_lines(flags.source)), list(read_lines(flags.reference))
        if len(sources) != len(references):
            raise UserError(
                f"--source has {len(sources)} lines, --reference {len(references)}: line n of one"
                " belongs to line n of the other"
            )
        return sources[: flags.bleu_sentences], references[: flags.bleu_sentences]
    problem = loaded.run.problem
    where = {"data_dir": str(flags.data_dir or loaded.run.data_dir or ""), "tmp_dir": flags.tmp_dir}
    try:
        sources = list(islice(problem.source_lines("dev", **where), flags.bleu_sentences))
        references = list(islice(problem.reference_lines("dev", **where), flags.bleu_sentences))
    except UserError as error:
        print(f"kt-exporter: the dev split cannot be read: {error}", file=sys.stderr)
        return [], []
    return sources, references


main = program.main(run)

if __name__ == "__main__":
    raise SystemExit(main())
