"""`kt-import-t2t`: Tensor2Tensor's checkpoints and run directories → ours, and back."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from keras_transformer.cli.decoding_flags import set_and_overrides
from keras_transformer.cli.output_places import require_folder
from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

program = Program(
    "kt-import-t2t",
    "takes over a Tensor2Tensor model: reads a TF1 checkpoint of any release, or the variables of a"
    " SavedModel, without TensorFlow 1, accounts for every variable, and writes a run directory for"
    " every kt- program. --verify repeats the parity check later, --reverse writes a"
    " Tensor2Tensor 1.15 checkpoint from a run directory.",
    examples=[
        "kt-import-t2t --t2t_model_dir=t2t_train/ende --data_dir=t2t_data --output_dir=runs/ende",
        "kt-import-t2t --checkpoint_path=averaged.ckpt-0 --hparams_set=transformer_big"
        " --vocab_file=vocab.translate_ende_wmt32k.32768.subwords --output_dir=runs/big",
        "kt-import-t2t --verify --output_dir=runs/ende",
        "kt-import-t2t --reverse --output_dir=runs/ende --t2t_model_dir=t2t_train/back",
    ],
)
program.string(
    "t2t_model_dir",
    None,
    "Tensor2Tensor's run directory (its --output_dir) or a SavedModel directory; with --reverse the"
    " folder to be written",
)
program.string("output_dir", None, "our run directory: to be written, verified or reversed")
program.string(
    "checkpoint_path",
    None,
    "prefix of one checkpoint (…/model.ckpt-250000) instead of the latest of the run directory",
)
program.string(
    "problem",
    None,
    "the problem it was trained on, if no flags.txt says it; with --vocab_file none is needed",
)
program.string("hparams_set", None, "name of its hparams set, if it left no hparams.json")
program.string("hparams_json", None, "its hparams.json, if that lies elsewhere")
program.string("hparams", "", "values put in place of its own, as in num_heads=16,pos=timing")
program.string("data_dir", None, "Tensor2Tensor's data directory, for the vocabulary and training")
program.string("vocab_file", None, "the vocabulary of both sides")
program.string("source_vocab_file", None, "the vocabulary of the inputs, if there are two")
program.string("target_vocab_file", None, "the vocabulary of the targets, if there are two")
program.integer(
    "target_space_id",
    None,
    "row of the target-space table; found from the weights or the problem where it can be: 0 from"
    " release 1.5.2 on, before that 8 for German, 6 for French, 15 for parsing",
    0,
)
program.string("usr_dir", None, "folder of your own problems and sets, a Python package")
program.alias("t2t_usr_dir", "usr_dir")
program.boolean("parity", True, "keep sentences with logits and beams for --verify")
program.boolean("verify", False, "compute the parity file's values again and compare")
program.string(
    "parity_file",
    None,
    "an .npz to verify against, for instance one made by Tensor2Tensor itself; default"
    " import_parity.npz of the run directory",
)
program.boolean("reverse", False, "write a Tensor2Tensor 1.15 checkpoint from our run directory")
program.boolean("json", False, "print the report as one JSON object, and nothing else")


def run(flags: Flags) -> int | None:
    if flags.verify and flags.reverse:
        raise UserError("--verify and --reverse are two different jobs; give one of them")
    if not flags.output_dir:
        raise UserError("--output_dir is not given: name our run directory")
    if flags.verify:
        return _verify(flags)
    if flags.reverse:
        _reverse(flags)
    else:
        _import(flags)
    return None


def _import(flags: Flags) -> None:
    if not flags.t2t_model_dir and not flags.checkpoint_path:
        raise UserError(
            "give --t2t_model_dir, a Tensor2Tensor run directory, or --checkpoint_path, the prefix"
            " of one checkpoint"
        )
    folder = Path(flags.t2t_model_dir or Path(flags.checkpoint_path).parent)
    for name in ("t2t_model_dir", "data_dir"):
        value = getattr(flags, name)
        if value and not Path(value).is_dir():
            raise UserError(f"--{name}={value}: there is no such folder")
    for name in ("vocab_file", "source_vocab_file", "target_vocab_file", "hparams_json"):
        value = getattr(flags, name)
        if value and not Path(value).is_file():
            raise UserError(f"--{name}={value}: there is no such file")
    require_folder(flags.output_dir, "--output_dir")

    from keras_transformer.t2t_compat.importing import REPORT_FILE, import_run
    from keras_transformer.t2t_compat.run_directory import open_run_dir

    hparams_set, overrides = set_and_overrides(flags)
    opened = open_run_dir(
        folder,
        usr_dir=flags.usr_dir,
        problem=flags.problem,
        hparams_set=hparams_set,
        hparams_json=flags.hparams_json,
        overrides=overrides,
        checkpoint_path=flags.checkpoint_path,
        data_dir=flags.data_dir,
        vocab_file=flags.vocab_file,
        source_vocab_file=flags.source_vocab_file,
        target_vocab_file=flags.target_vocab_file,
        target_space_id=flags.target_space_id,
    )
    report = import_run(
        opened, flags.output_dir, flags.data_dir, flags.usr_dir, with_parity=flags.parity
    )
    if flags.json:
        print(json.dumps(report.to_dict(), ensure_ascii=False))
    else:
        print("\n".join(report.lines()))
        print(f"wrote {flags.output_dir}; every variable is listed in {REPORT_FILE} there")


def _verify(flags: Flags) -> int:
    import tensorflow as tf

    # Ten bits of mantissa would drown what is to be compared.
    tf.config.experimental.enable_tensor_float_32_execution(False)

    from keras_transformer.decoding.loading import load_models
    from keras_transformer.t2t_compat import parity

    loaded = load_models(
        flags.output_dir,
        flags.checkpoint_path,
        usr_dir=flags.usr_dir,
        vocabularies={
            name: getattr(flags, name)
            for name in ("data_dir", "vocab_file", "source_vocab_file", "target_vocab_file")
        },
    )
    path = flags.parity_file or Path(flags.output_dir) / parity.PARITY_FILE
    rows = parity.verify(loaded.models[0][0], path, loaded.run.hparams.label_smoothing)
    agrees = all(row.agrees for row in rows)
    if flags.json:
        print(json.dumps({"agrees": agrees, "compared": [vars(row) for row in rows]}))
    else:
        print("\n".join(row.line() for row in rows))
    return 0 if agrees else 1


def _reverse(flags: Flags) -> None:
    if not flags.t2t_model_dir:
        raise UserError("--t2t_model_dir is not given: name the folder to be written")
    require_folder(flags.t2t_model_dir, "--t2t_model_dir")

    from keras_transformer.decoding.loading import find_checkpoints
    from keras_transformer.run_dir import RunDir
    from keras_transformer.t2t_compat.writer import reverse_run

    opened = RunDir.open(flags.output_dir, usr_dir=flags.usr_dir)
    (prefix,) = find_checkpoints(opened.path, flags.checkpoint_path)[:1]
    written = reverse_run(opened, prefix, flags.t2t_model_dir)
    print(f"wrote {written} with hparams.json and the vocabulary, for Tensor2Tensor 1.15")


main = program.main(run)

if __name__ == "__main__":
    sys.exit(main())
