"""From what a user asks for to a plan for each row, and what each table takes from the paper."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keras_transformer import registry
from keras_transformer.config import HParams
from keras_transformer.data.problem import Problem
from keras_transformer.errors import UserError
from keras_transformer.hparams.table3 import ROWS as TABLE3
from keras_transformer.reproduce.deviations import settings
from keras_transformer.reproduce.paper import (
    PARSER_SET,
    TABLE2,
    TABLE3_PROBLEM,
    TABLE4,
    TABLE4_PROBLEM,
)
from keras_transformer.reproduce.plan import RowPlan
from keras_transformer.reproduce.variants import PAPERS_BASE, variant

# Number of the table → its rows by name.
TABLES: Mapping[int, Mapping[str, object]] = {2: TABLE2, 3: TABLE3, 4: TABLE4}
# Where training may begin again; nothing else depends on it where nothing is averaged.
SAVE_STEPS = 1000
MACHINE_TREES = ("machine_trees", "gold_weight")

FOLLOWED = {
    2: (
        "the recipe of the model's hyperparameters (kt-info shows each value and its source)",
        "the newest checkpoints, spread over as large a part of the run as the paper's ten minutes"
        " between two, averaged before anything is measured (section 6.1)",
        "beam search with a beam of 4 and length penalty alpha 0.6, outputs of at most the input's"
        " length + 50 (section 6.1)",
        "BLEU of tokenised text, German compounds split; sacreBLEU beside it",
        "FLOPs as training time times devices times sustained FLOP/s of one (Table 2's caption);"
        " beside it those counted",
    ),
    3: (
        "one change of the base model in each row, the data, the steps and the order of batches"
        " being equal",
        "the last checkpoint, no averaging",
        "perplexity of a subword of the development set, of the unsmoothed likelihood, each target"
        " given the right words before it; the end of a sentence counts as a subword, and as a word"
        " in the perplexity of a word",
        "BLEU of tokenised text, German compounds split, of beam search with a beam of 4 and alpha"
        " 0.6, outputs of at most the input's length + 50",
    ),
    4: (
        "four layers, the linear form of trees, a vocabulary of words and one of symbols (section"
        " 6.3; kt-info --hparams=parsing shows each value and its source)",
        "beam search with a beam of 21 and alpha 0.3, outputs of at most the input's length + 300",
        "labelled bracket F1 of EVALB with COLLINS parameters; an output that is no tree over its"
        " sentence's words is made one first",
    ),
}


@dataclass(frozen=True)
class Request:
    """What the user asks for; None or "" leaves it to the paper.

    Attributes:
        table: 2, 3 or 4.
        rows: names; empty: all that the problem allows.
        base_hparams: a set in place of the paper's base (Table 2 and 4: of the row's own set).
        overrides: of hyperparameters, for every row.
        problem, problem_options: in place of the paper's data.
        machine_trees_given: the options name trees parsed by machine.
        Others: as `RowPlan`.
    """

    table: int
    rows: tuple[str, ...] = ()
    base_hparams: str = ""
    overrides: str = ""
    problem: str = ""
    problem_options: dict[str, Any] = field(default_factory=dict)
    data_dir: str = ""
    tmp_dir: str = ""
    usr_dir: str = ""
    steps: int | None = None
    save_steps: int | None = None
    averaged: int | None = None
    test_set: str = ""
    max_lines: int = 0
    target_language: str = ""
    beam_size: int | None = None
    alpha: float | None = None
    extra_length: int | None = None
    seed: int = 1
    precision: str = ""
    deterministic: bool = False
    simulate_replicas: int = 1
    gpus: int | None = None
    jit: bool = False
    sustained_tflops: float = 0.0


def plans(request: Request) -> list[RowPlan]:
    """A plan for each row that is asked for, in the order of the table.

    Raises:
        UserError: an unknown row, problem, set or value, or settings that do not go together.
    """
    names = _row_names(request)
    make = {2: _table2_plan, 3: _table3_plan, 4: _table4_plan}[request.table]
    return [make(name, request) for name in names]


def _row_names(request: Request) -> list[str]:
    known = TABLES[request.table]
    for name in request.rows:
        if name not in known:
            raise UserError(
                f"--rows: there is no row {name!r} in table {request.table}: it has"
                f" {', '.join(known)}"
            )
    wanted = set(request.rows) or set(known)
    if request.table == 2 and request.problem:
        pairs = {TABLE2[name].languages for name in wanted}
        if len(pairs) > 1 and request.rows:
            raise UserError(
                f"--problem={request.problem} is one language pair, --rows are of"
                f" {' and '.join(sorted(pairs))}: ask for each pair by itself"
            )
        if not request.rows:
            wanted = {name for name in wanted if TABLE2[name].languages == "en-de"}
    if request.table == 4 and not request.rows and "machine_trees" not in request.problem_options:
        wanted.discard("semi")
    return [name for name in known if name in wanted]


def _table3_plan(name: str, request: Request) -> RowPlan:
    row = TABLE3[name]
    base_set = request.base_hparams or PAPERS_BASE
    found = variant(name, base_set, request.overrides)
    # What the row itself changes stands in the table.
    base = variant("base", base_set, request.overrides).hparams
    notes = [settings(base, "table3_base"), found.rounded]
    problem = registry.problem(request.problem or TABLE3_PROBLEM, **request.problem_options)
    steps = row.steps if request.steps is None else request.steps
    return _plan(
        request,
        name,
        problem,
        found.hparams,
        found.hparams_set,
        change=found.change,
        steps=steps,
        save_steps=request.save_steps or SAVE_STEPS,
        averaged=request.averaged or 0,
        test_set=request.test_set or "dev",
        notes=notes,
    )


def _table2_plan(name: str, request: Request) -> RowPlan:
    row = TABLE2[name]
    hparams_set = request.base_hparams or row.hparams_set
    if request.base_hparams:
        # The shape of the row over that set; its big one has the big row's dropout.
        shape = "big" if row.averaged == TABLE2["big_ende"].averaged else "base"
        hp = variant(shape, request.base_hparams, request.overrides).hparams
    else:
        hp = registry.hparams(hparams_set, request.overrides)
    problem = registry.problem(request.problem or row.problem, **request.problem_options)
    steps = row.steps if request.steps is None else request.steps
    test_set = request.test_set
    if not test_set:
        # The paper's data has no test split of its own in T2T; sacreBLEU holds newstest2014 whole.
        test_set = "wmt14/full" if problem.name == registry.problem(row.problem).name else "test"
    return _plan(
        request,
        name,
        problem,
        hp,
        hparams_set,
        notes=[settings(hp, row.hparams_set)],
        change=f"{hparams_set}, {row.languages}",
        steps=steps,
        save_steps=request.save_steps or _in_proportion(row.save_steps, steps, row.steps),
        averaged=row.averaged if request.averaged is None else request.averaged,
        test_set=test_set,
    )


def _table4_plan(name: str, request: Request) -> RowPlan:
    row = TABLE4[name]
    hparams_set = request.base_hparams or PARSER_SET
    options = dict(request.problem_options)
    if name == "wsj":
        for option in MACHINE_TREES:
            options.pop(option, None)
    elif "machine_trees" not in options:
        raise UserError(
            "row semi is trained on trees parsed by machine besides: name them with"
            " --machine_trees=FILE=WEIGHT,…"
        )
    hp = registry.hparams(hparams_set, request.overrides)
    problem = registry.problem(request.problem or TABLE4_PROBLEM, **options)
    if not hasattr(problem, "gold_files"):
        raise UserError(
            f"--problem={request.problem} has no trees, and table 4 is about parsing: take"
            " wsj_parsing, or sample_parsing to try it out"
        )
    steps = row.steps if request.steps is None else request.steps
    return _plan(
        request,
        name,
        problem,
        hp,
        hparams_set,
        notes=[settings(hp, PARSER_SET)],
        change=row.training,
        steps=steps,
        save_steps=request.save_steps or _in_proportion(row.save_steps, steps, row.steps),
        averaged=row.averaged if request.averaged is None else request.averaged,
        test_set=request.test_set or "test",
        # With other trees there is another vocabulary.
        data_dir=os.path.join(request.data_dir, name),
    )


def _in_proportion(save_steps: int, steps: int, papers_steps: int) -> int:
    """Updates between checkpoints, so that an average spans the same part of a shorter run."""
    return max(1, round(save_steps * steps / papers_steps))


def _plan(
    request: Request,
    name: str,
    problem: Problem,
    hp: HParams,
    hparams_set: str,
    *,
    change: str,
    steps: int,
    save_steps: int,
    averaged: int,
    test_set: str,
    notes: Sequence[str],
    data_dir: str = "",
) -> RowPlan:
    if averaged and math.ceil(steps / save_steps) < averaged:
        raise UserError(
            f"row {name}: {averaged} checkpoints are to be averaged, but {steps} steps with a"
            f" checkpoint each {save_steps} give {math.ceil(steps / save_steps)}: lower"
            " --save_steps or --average"
        )
    papers: dict[str, Any] = {"beam_size": 4, "alpha": 0.6, "extra_length": 50}
    decoding = {**papers, **problem.decode_defaults}
    for option in papers:
        if getattr(request, option) is not None:
            decoding[option] = getattr(request, option)
    languages = problem.oriented(
        dict(zip(("inputs", "targets"), getattr(problem, "languages", ("", "")), strict=True))
    )
    return RowPlan(
        table=request.table,
        row=name,
        change=change,
        base_set=request.base_hparams or PAPERS_BASE,
        hparams_set=hparams_set,
        hparams=hp.to_dict(),
        problem=problem.full_name,
        problem_options=problem.options,
        steps=steps,
        save_steps=save_steps,
        averaged=averaged,
        test_set=test_set,
        max_lines=request.max_lines,
        target_language=request.target_language or languages["targets"] or "de",
        beam_size=decoding["beam_size"],
        alpha=decoding["alpha"],
        extra_length=decoding["extra_length"],
        seed=request.seed,
        precision=request.precision,
        deterministic=request.deterministic,
        simulate_replicas=request.simulate_replicas,
        notes=[note for note in notes if note],
        data_dir=data_dir or request.data_dir,
        tmp_dir=request.tmp_dir,
        usr_dir=request.usr_dir,
        gpus=request.gpus,
        jit=request.jit,
        sustained_tflops=request.sustained_tflops,
    )
