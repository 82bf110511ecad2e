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
_TREES = {
    "parsing_path": "parsing: folder of a Penn Treebank as the LDC ships it, or of train.trees,"
    " dev.trees and test.trees; default --tmp_dir",
    "train_trees": "parsing: files or folders of training trees, commas between, instead",
    "dev_trees": "parsing: the same for development",
    "test_trees": "parsing: the same for the test",
    "train_sections": "parsing: sections of the LDC's treebank to train on (02-21)",
    "dev_sections": "parsing: the same for development (22)",
    "test_sections": "parsing: the same for the test (23)",
    "machine_trees": "parsing: files parsed by machine to train on besides, file=weight with commas"
    " between; a weight says how often each tree is used",
}
_OTHERS = (
    "vocab_size",
    "separate_vocabularies",
    "packed_length",
    "max_words",
    "keep_function_tags",
    "keep_empty_elements",
    "vocab_style",
    "source_vocab_size",
)
# What is passed on only where it differs from these.
_DEFAULTS: dict[str, Any] = {"source": "archives", "utf8_errors": "strict", "gold_weight": 1.0}


def add_problem_flags(program: Program) -> None:
    """Adds `--source`, the flags of the problem `text2text` and those of the parsing problems."""
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
    program.integer(
        "packed_length",
        0,
        "text2text: pack several sentences into rows of so many subtokens (T2T: 256; 0: don't)",
        0,
    )
    program.enum(
        "utf8_errors",
        _DEFAULTS["utf8_errors"],
        ["strict", "replace"],
        "text2text: stop at bytes that are not UTF-8, or read U+FFFD for them and count them",
    )
    for name, text in _TREES.items():
        program.string(name, "", text)
    program.float(
        "gold_weight",
        _DEFAULTS["gold_weight"],
        "parsing: how often each gold tree is used, beside machine_trees",
        0.0,
    )
    program.integer(
        "max_words", 0, "parsing: leave longer training trees out, and count them (0: none)", 0
    )
    program.boolean("keep_function_tags", False, "parsing: NP-SBJ stays NP-SBJ")
    program.boolean("keep_empty_elements", False, "parsing: traces and other empty elements stay")
    program.enum(
        "vocab_style",
        None,
        ["separate", "t2t"],
        "wsj_parsing: a vocabulary of words and one of symbols, or T2T 1.15's shared one; default:"
        " that of the data directory, else separate",
    )
    program.integer(
        "source_vocab_size",
        0,
        "parsing: wanted size of the vocabulary of words (0: 16384, with machine_trees 32768)",
        0,
    )


def problem_options(flags: Flags) -> dict[str, Any]:
    """Options for `registry.problem` that the flags give; flags at their default are left out."""
    names = [*_FILES, *_TREES, *_OTHERS]
    options = {name: getattr(flags, name) for name in names if getattr(flags, name)}
    for name, default in _DEFAULTS.items():
        if getattr(flags, name) != default:
            options[name] = getattr(flags, name)
    return options
