"""Flags of the programs that decode: which model, and how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.decoding.loading import LoadedRun
    from keras_transformer.decoding.options import DecodeHparams

_VOCABULARIES = ("vocab_file", "source_vocab_file", "target_vocab_file")
_OPTIONS = (
    "beam_size",
    "alpha",
    "extra_length",
    "length_limit",
    "batch_size",
    "n_best",
    "min_length",
    "max_input_size",
    "ending_rule",
)


def add_model_flags(program: Program) -> None:
    """Flags that say which run directory and what it does not know itself."""
    program.string("output_dir", None, "the run directory: kt-trainer's or t2t-trainer's")
    program.string("data_dir", None, "data directory: its shards, and vocabularies not in the run")
    program.string("problem", None, "must be the run's; tells it for a T2T run that does not")
    program.string("hparams_set", None, "must be the run's; tells it for a T2T run that does not")
    program.string("hparams", "", "values put over the settings of a T2T run: num_heads=16,…")
    program.string("hparams_json", None, "hparams.json of a T2T run, if it lies elsewhere")
    program.integer("target_space_id", None, "target space of a T2T run, if it cannot be found", 0)
    program.string("vocab_file", None, "the vocabulary of both sides, if it is not in the run")
    program.string("source_vocab_file", None, "the vocabulary of the inputs, if there are two")
    program.string("target_vocab_file", None, "the vocabulary of the targets, if there are two")
    program.string("usr_dir", None, "folder of your own problems, a Python package")
    program.alias("t2t_usr_dir", "usr_dir")
    program.string("model", "transformer", "only transformer is there")


def add_search_flags(program: Program) -> None:
    """Flags that say how to decode."""
    program.string(
        "decode_hparams",
        "",
        "T2T's form: beam_size=4,alpha=0.6,return_beams=True,write_beam_scores=True,…",
    )
    program.integer(
        "beam_size", None, "hypotheses kept, 1 is greedy (default 4; for parsing 21)", 1
    )
    program.float(
        "alpha", None, "exponent of the length penalty (default 0.6; for parsing 0.3)", 0.0
    )
    program.integer(
        "extra_length",
        None,
        "subtokens an output may have beyond its input (default 50; for parsing 300)",
        0,
    )
    program.enum(
        "length_limit",
        None,
        ["sentence", "batch"],
        "whose input length counts: the sentence's own (default), or the longest of its batch, as"
        " in T2T",
    )
    program.integer("batch_size", None, "sentences of one batch (default 32)", 1)
    program.integer("n_best", None, "outputs of each sentence, at most beam_size (default 1)", 1)
    program.integer(
        "min_length", None, "least subtokens of an output, at most extra_length (default 0)", 0
    )
    program.enum(
        "ending_rule",
        None,
        ["tensor2tensor", "ctranslate2"],
        "which candidates of a step of beam search may end an output: the best 2 beam_size, as in"
        " T2T (default), or the best beam_size, which gives at alpha 0 what CTranslate2 gives",
    )
    program.integer(
        "max_input_size", None, "longer inputs are cut to so many subtokens (default: never)"
    )


def add_device_flags(program: Program) -> None:
    """Flags of programs that decode on every device."""
    program.integer(
        "logical_cpus", 0, "cut the CPU into so many devices, to try several out", 0, 64
    )


def choose_devices(flags: Flags) -> None:
    """What `--logical_cpus` says; before TensorFlow is used."""
    if flags.logical_cpus > 1:
        from keras_transformer.training.distribution import cut_cpu

        cut_cpu(flags.logical_cpus)


def add_parsing_flags(program: Program) -> None:
    """Flags of problems whose outputs are trees."""
    program.enum(
        "parse_format",
        None,
        ["tree", "symbols", "pretty", "json"],
        "parsing: one bracketed tree a line as EVALB reads it (the default), the model's symbols, a"
        " tree over several lines, or a JSON object a line",
    )
    program.boolean(
        "raw_input",
        None,
        "parsing: sentences are raw text, to be tokenised as the Penn Treebank is; default: words"
        " with blanks between",
    )
    program.boolean(
        "constrain_brackets",
        False,
        "parsing: at each step allow only what keeps the tree well-formed and over the sentence's"
        " words",
    )


def parsing_settings(flags: Flags) -> dict[str, Any]:
    """What `--parse_format` and `--raw_input` say, for `Problem.set_decode_settings`."""
    names = ("parse_format", "raw_input")
    return {name: getattr(flags, name) for name in names if getattr(flags, name) is not None}


def _defaults(flags: Flags) -> dict[str, Any]:
    """The options whose defaults are those of the run's problem."""
    import json
    from pathlib import Path

    from keras_transformer import registry
    from keras_transformer.run_dir import RUN_FILE

    if flags.usr_dir:
        registry.import_usr_dir(flags.usr_dir)
    name, options = flags.problem, {}
    try:
        record = json.loads(Path(flags.output_dir, RUN_FILE).read_text(encoding="utf-8"))
        name, options = record["problem"], record["options"]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # T2T's own, or damaged, which opening it will say
    if not name:
        return {}
    try:
        return dict(registry.problem(name, **options).decode_defaults)
    except UserError:
        return {}  # opening the run will say it


def decode_hparams(flags: Flags, defaults: Mapping[str, Any] | None = None) -> DecodeHparams:
    """What `--decode_hparams` and the single flags say together.

    Args:
        flags: of a program with `add_search_flags`.
        defaults: `Problem.decode_defaults` of a run that is open; None looks the problem up.

    Raises:
        UserError: an unknown name or value, or two flags that say different things.
    """
    import dataclasses

    from keras_transformer.decoding.options import DecodeOptions, parse_decode_hparams

    base = DecodeOptions(**(_defaults(flags) if defaults is None else defaults))
    hparams = parse_decode_hparams(flags.decode_hparams, base)
    named = {item.partition("=")[0].strip() for item in flags.decode_hparams.split(",")}
    changes: dict[str, Any] = {}
    for name in _OPTIONS:
        value = getattr(flags, name)
        if value is None:
            continue
        if name in named and getattr(hparams.options, name) != value:
            raise UserError(
                f"--{name}={value} and --decode_hparams={name}={getattr(hparams.options, name)}"
                " contradict each other: give one of them"
            )
        changes[name] = value
    if getattr(flags, "constrain_brackets", False):
        changes["constrain"] = True
    if hparams.return_beams and "n_best" not in changes and "beam_size" in changes:
        changes["n_best"] = changes["beam_size"]
    return dataclasses.replace(hparams, options=hparams.options.replace(**changes))


def require_run_dir(flags: Flags) -> None:
    """Ends at once if there is no run directory, before TensorFlow is loaded."""
    from pathlib import Path

    if not flags.output_dir:
        raise UserError("--output_dir is not given: name the run directory of a trained model")
    if not Path(flags.output_dir).is_dir():
        raise UserError(f"--output_dir={flags.output_dir}: there is no such run directory")
    if flags.model != "transformer":
        raise UserError(f"--model={flags.model}: only transformer is there")


def load_run(flags: Flags, checkpoint_path: str | None) -> LoadedRun:
    """The models the flags name.

    Raises:
        UserError: something is missing, damaged, or contradicts what the run says of itself.
    """
    from keras_transformer.decoding.loading import load_models

    vocabularies = {name: getattr(flags, name) for name in _VOCABULARIES}
    hparams_set, overrides = set_and_overrides(flags)
    first = (checkpoint_path or "").partition(",")[0] or None
    loaded = load_models(
        flags.output_dir,
        checkpoint_path,
        usr_dir=flags.usr_dir,
        vocabularies={"data_dir": flags.data_dir, **vocabularies},
        t2t_options={
            "problem": flags.problem,
            "hparams_set": hparams_set,
            "hparams_json": flags.hparams_json,
            "overrides": overrides,
            "checkpoint_path": first,
            "target_space_id": flags.target_space_id,
        },
    )
    if not loaded.run.is_t2t:
        _check_against_run(flags, loaded)
    return loaded


def set_and_overrides(flags: Flags) -> tuple[str | None, str]:
    """The set and the overrides meant by --hparams_set and --hparams=base,batch_size=1024."""
    from keras_transformer import registry

    name, overrides = registry.split_set_and_overrides(flags.hparams or "")
    return flags.hparams_set or name or None, overrides


def _check_against_run(flags: Flags, loaded: LoadedRun) -> None:
    """The command line may repeat what the run knows, not contradict it."""
    from keras_transformer import registry

    run = loaded.run
    told: list[tuple[str, Any, Any]] = []
    if flags.target_space_id is not None:
        told.append(("target_space_id", flags.target_space_id, run.target_space_id))
    if flags.problem:
        name = registry.problem(flags.problem, **run.problem.options).full_name
        told.append(("problem", name, run.problem.full_name))
    hparams_set, overrides = set_and_overrides(flags)
    if hparams_set and run.hparams_set:
        told.append(("hparams_set", hparams_set, run.hparams_set))
    if overrides:
        changed = run.hparams.override(overrides)
        told += [(name, theirs, mine) for name, mine, theirs in run.hparams.differences(changed)]
    for name, given, stored in told:
        if given != stored:
            raise UserError(
                f"--{name} says {given}, but the model in {run.path} was trained with {stored}:"
                " leave the flag out, or name the right run directory"
            )


def identity(loaded: LoadedRun) -> dict[str, Any]:
    """What outputs of these models depend on, for files that may be taken up again."""
    import keras_transformer
    from keras_transformer.decoding.decode_file import checkpoint_identity

    return {
        "version": keras_transformer.__version__,
        "problem": loaded.run.problem.full_name,
        "settings": loaded.run.problem.decode_settings(),
        "vocabularies": {
            side: record.get("sha256") for side, record in loaded.run.vocabularies.items()
        },
        "checkpoint": checkpoint_identity(loaded.checkpoints),
    }
