"""`kt-exporter`: a trained model → a SavedModel for any TensorFlow, or a CTranslate2 model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from keras_transformer.cli.decoding_flags import (
    add_model_flags,
    add_search_flags,
    decode_hparams,
    load_run,
    require_run_dir,
)
from keras_transformer.cli.log import show_log
from keras_transformer.cli.output_places import require_folder
from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from keras_transformer.cli.export_report import Comparison, ExportReport
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
program.string(
    "source",
    None,
    "sentences to translate, one a line: BLEU of what was exported and of kt-decoder, and how many"
    " outputs are the same",
)
program.string("reference", None, "their reference; by default the problem's dev split is taken")
program.string("tmp_dir", "", "where the problem's corpora lie, for its dev split")
program.integer("bleu_sentences", 500, "sentences to translate at most for the change of BLEU", 1)
program.boolean("json", False, "print folder, sizes and the change of BLEU as one JSON object")
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
    if options.sample:
        raise UserError("an exported model searches: take sample out of decode_hparams")
    path = _export_dir(flags)
    export = _export_ctranslate2 if flags.format == "ctranslate2" else _export_saved_model
    report = export(flags, options, path)
    if flags.json:
        print(json.dumps(report.as_dict(), indent=1))
    elif flags.weights != "float32" or flags.source:
        print("\n".join(report.lines()))
    else:
        print(path)
    return None


def _export_dir(flags: Flags) -> Path:
    from pathlib import Path

    from keras_transformer.export.target_dir import check_target, numbered_dir

    base = Path(flags.output_dir, "export")
    require_folder(flags.export_dir or base, "--export_dir")
    return check_target(flags.export_dir or numbered_dir(base))


def _vocabularies(flags: Flags, loaded: LoadedRun) -> dict[str, Path | None]:
    return loaded.run.vocabulary_paths(
        flags.data_dir, flags.vocab_file, flags.source_vocab_file, flags.target_vocab_file
    )


def _export_saved_model(flags: Flags, options: DecodeOptions, path: Path) -> ExportReport:
    loaded = load_run(flags, flags.checkpoint_path)

    from keras_transformer.cli.export_report import ExportReport
    from keras_transformer.export import saved_model
    from keras_transformer.export.target_dir import folder_bytes

    model = saved_model.serving_model(loaded, options, flags.weights)
    if not model.takes_text:
        print(
            "kt-exporter: this problem's text cannot be handled inside a graph: the model takes and"
            " gives ids only",
            file=sys.stderr,
        )
    signatures = model.signatures()
    description = {
        **saved_model.describe(loaded, options, flags.weights),
        "signatures": sorted(signatures),
    }
    saved_model.save(model, signatures, path, _vocabularies(flags, loaded), description)

    def translate(sources: list[str]) -> list[str]:
        return saved_model.translate(signatures, sources)

    return ExportReport(
        export_dir=str(path),
        format=flags.format,
        weights=flags.weights,
        folder_bytes=folder_bytes(path),
        weight_bytes=sum(weights.num_bytes for weights in model.weights),
        float32_bytes=sum(weights.float32_bytes for weights in model.weights),
        comparison=_compare(flags, loaded, options, translate) if model.takes_text else None,
    )


def _export_ctranslate2(flags: Flags, options: DecodeOptions, path: Path) -> ExportReport:
    from keras_transformer.export import ctranslate2_model

    ctranslate2_model.require_ctranslate2()
    loaded = load_run(flags, flags.checkpoint_path)

    from keras_transformer.cli.export_report import ExportReport
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.export import saved_model
    from keras_transformer.export.ctranslate2_outputs import (
        CTranslate2Outputs,
        translate_batch_options,
    )
    from keras_transformer.export.target_dir import folder_bytes

    translator = Translator.of_loaded(loaded)
    description = {
        **saved_model.describe(loaded, options, flags.weights),
        "translate_batch": translate_batch_options(options, translator.most_positions),
    }
    vocabularies = _vocabularies(flags, loaded)
    ctranslate2_model.save(loaded, path, flags.weights, vocabularies, description)

    def translate(sources: list[str]) -> list[str]:
        return CTranslate2Outputs(path, translator).texts(sources, options)

    return ExportReport(
        export_dir=str(path),
        format=flags.format,
        weights=flags.weights,
        folder_bytes=folder_bytes(path),
        comparison=_compare(flags, loaded, options, translate),
    )


def _compare(
    flags: Flags,
    loaded: LoadedRun,
    options: DecodeOptions,
    translate: Callable[[list[str]], list[str]],
) -> Comparison | None:
    """What was exported beside kt-decoder; None where nothing is asked for or to be had."""
    if not flags.source and flags.weights == "float32":
        return None
    sources, references = _scored_sentences(flags, loaded)
    if not sources:
        return None

    from keras_transformer.cli.export_report import compare
    from keras_transformer.decoding.translator import Translator

    exact = [each.text for each in Translator.of_loaded(loaded).translate(sources, options)]
    name = "CTranslate2" if flags.format == "ctranslate2" else "SavedModel"
    return compare(f"{name} {flags.weights}", translate(sources), exact, references)


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
        pairs = list(islice(problem.scoring_lines("dev", **where), flags.bleu_sentences))
    except UserError as error:
        print(f"kt-exporter: the dev split cannot be read: {error}", file=sys.stderr)
        return [], []
    return [source for source, _ in pairs], [reference for _, reference in pairs]


main = program.main(run)

if __name__ == "__main__":
    raise SystemExit(main())
