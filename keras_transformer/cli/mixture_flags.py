"""Flags that say what a problem is trained on besides its own data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from keras_transformer import registry
from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError
from keras_transformer.run_dir import RUN_FILE, RunDir, write_text_atomically

if TYPE_CHECKING:
    from keras_transformer.data.problem import Problem


def add_flags(program: Program) -> None:
    """Adds `--mix` and its like."""
    program.string(
        "mix",
        "",
        "problems to train on besides, NAME=WEIGHT with commas between: a number of sentences for"
        " each one of --problem (0.5), or of passes for each pass over it (2x; without a weight"
        " 1x); they share its vocabulary",
    )
    program.string("mix_source", "", "source files to train on besides, commas between")
    program.string("mix_target", "", "their target files")
    program.string("mix_weights", "", "a weight for each pair, as in --mix (default: 1x)")


def given(flags: Flags) -> list[dict[str, Any]]:
    """What the flags ask for, as records of `data.mixing`.

    Raises:
        UserError: a weight is none, or files and weights differ in number.
    """
    if not (flags.mix or flags.mix_source or flags.mix_target or flags.mix_weights):
        return []
    from keras_transformer.data import mixing

    return mixing.records_from_flags(
        flags.mix, flags.mix_source, flags.mix_target, flags.mix_weights
    )


def settle(run: RunDir, flags: Flags) -> RunDir:
    """The run with the mixture that counts, after the flags were compared with it.

    Flags that say nothing leave what the run directory says.

    Raises:
        UserError: both say something else, and `--on_conflict` does not decide.
    """
    wanted = given(flags)
    if not wanted or wanted == run.mixture or flags.on_conflict == "run_dir":
        return run
    from keras_transformer.data import mixing

    if flags.on_conflict == "stop":
        raise UserError(
            f"{flags.output_dir} was begun with another mixture than the command line gives:\n"
            f"  {mixing.describe(run.mixture)} in the run directory, {mixing.describe(wanted)} on"
            " the command line\nsay whose counts with --on_conflict=run_dir or"
            " --on_conflict=command_line, or give another --output_dir"
        )
    path = run.path / RUN_FILE
    record = json.loads(path.read_text(encoding="utf-8"))
    write_text_atomically(path, json.dumps({**record, "mixture": wanted}, indent=2) + "\n")
    return dataclasses.replace(run, mixture=wanted)


def make_data(
    problem: Problem,
    records: Sequence[Mapping[str, Any]],
    data_dir: str,
    tmp_dir: str,
    is_maker: bool = True,
) -> None:
    """Makes what is missing of the data that is mixed in.

    Args:
        problem: the main problem, whose data is there.
        records: what is mixed in.
        data_dir, tmp_dir: folders of data and of corpora.
        is_maker: False for a process that only takes what another one has made.

    Raises:
        UserError: a problem is not known, does not fit, or has another vocabulary.
    """
    if records and is_maker:
        from keras_transformer.data import mixing

        mixing.from_records(problem, records, registry.problem).make_data(data_dir, tmp_dir)
