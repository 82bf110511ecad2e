"""Flags that say what to learn, shared by the programs that make data."""

from __future__ import annotations

from typing import Any

from keras_transformer.cli.program import Flags, Program

_FILES = {
    "train_source": "text2text: training source file, UTF-8, plain or .gz",
    "train_target": "text2text: training target file; its line n translates line n of the source",
    "dev_source": "text2text: development source file",
    "dev_target": "text2text: development target file",
    "test_source": "text2text: test source file, to decode and score later",
    "test_target": "text2text: test target file",
    "vocab_file": "text2text: vocabulary for both sides (T2T's format) instead of a learnt one",
    "source_vocab_file": "text2text: vocabulary of the source side",
    "target_vocab_file": "text2text: vocabulary of the target side",
}
_DEFAULTS = {"source": "archives", "utf8_errors": "strict"}


def add_problem_flags(program: Program) -> None:
    """Adds `--source` and the flags of the problem `text2text`."""
    program.enum(
        "source",
        _DEFAULTS["source"],
        ["archives", "tfds"],
        "where WMT comes from: T2T's archives or tensorflow-datasets",
    )
    for name, text in _FILES.items():
        program.string(name, "", text)
    program.integer("vocab_size", 0, "text2text: wanted vocabulary size, entries (0: 8192)", 0)
    program.boolean("separate_vocabularies", False, "text2text: learn one vocabulary a side")
    program.enum(
        "utf8_errors",
        _DEFAULTS["utf8_errors"],
        ["strict", "replace"],
        "text2text: stop at bytes that are not UTF-8, or read U+FFFD for them and count them",
    )


def problem_options(flags: Flags) -> dict[str, Any]:
    """Options for `registry.problem` that the flags give; flags at their default are left out."""
    names = [*_FILES, "vocab_size", "separate_vocabularies"]
    options = {name: getattr(flags, name) for name in names if getattr(flags, name)}
    for name, default in _DEFAULTS.items():
        if getattr(flags, name) != default:
            options[name] = getattr(flags, name)
    return options
