"""Where a row's run departs from the paper: one sentence for each, with both values."""

from __future__ import annotations

from typing import Any

from keras_transformer import registry
from keras_transformer.config import HParams
from keras_transformer.hparams.table3 import ROWS as TABLE3
from keras_transformer.reproduce.paper import (
    BATCH_TOKENS,
    DATA,
    DEVICES,
    NEWSTEST2013_SENTENCES,
    PARSING_DATA,
    SECTION23_SENTENCES,
    TABLE2,
    TABLE3_PROBLEM,
    TABLE4,
    TABLE4_PROBLEM,
    VOCABULARY,
)
from keras_transformer.reproduce.plan import RowPlan

# The paper's own, as sacreBLEU names them.
_NEWSTEST2013 = {"wmt13"}
_NEWSTEST2014 = {"wmt14/full"}
# How far a number may be from "about".
_ABOUT = 0.15


def deviations(plan: RowPlan, result: dict[str, Any]) -> list[str]:
    """Sentences, the most important first.

    Args:
        plan: the row's plan.
        result: what was measured: vocab_sizes, tokens of an update, devices.
    """
    found = [
        *plan.notes,
        _steps(plan),
        _batch(result),
        _data(plan, result),
        _scored(plan),
        _precision(result),
        _averaging(plan),
        *_decoding(plan),
        _devices(result),
    ]
    return [sentence for sentence in found if sentence]


def settings(own: HParams, papers_set: str) -> str:
    """The hyperparameters that are not the paper's; "" if all are."""
    pairs = own.differences(registry.hparams(papers_set))
    if not pairs:
        return ""
    shown = ", ".join(f"{name} {mine} for {theirs}" for name, mine, theirs in pairs)
    return f"settings other than `{papers_set}`: {shown}"


def _steps(plan: RowPlan) -> str:
    if plan.table == 4:
        return f"{plan.steps:,} updates; the paper does not print how many it made"
    papers = TABLE2[plan.row].steps if plan.table == 2 else TABLE3[plan.row].steps
    return f"{plan.steps:,} updates for the paper's {papers:,}" if plan.steps != papers else ""


def _batch(result: dict[str, Any]) -> str:
    source, target = (result[f"{side}_tokens_per_update"] for side in ("source", "target"))
    if source is None:
        return ""
    if all(abs(side / BATCH_TOKENS - 1) <= _ABOUT for side in (source, target)):
        return ""
    return (
        f"an update sees {source:,.0f} source and {target:,.0f} target subtokens in the mean, for"
        f" about {BATCH_TOKENS:,} of each"
    )


def _data(plan: RowPlan, result: dict[str, Any]) -> str:
    sizes = result["vocab_sizes"]
    vocabulary = f"{sizes['inputs']:,}"
    if sizes["inputs"] != sizes["targets"]:
        vocabulary += f" and {sizes['targets']:,}"
    if plan.table == 4:
        paper = PARSING_DATA[plan.row]
    else:
        pair = TABLE2[plan.row].languages if plan.table == 2 else "en-de"
        paper = f"{DATA[pair]}, shared vocabulary of about {VOCABULARY[pair]:,}"
    return f"data: `{plan.problem}`, vocabulary {vocabulary}; the paper: {paper}"


def _scored(plan: RowPlan) -> str:
    if _is_the_papers_split(plan):
        return ""
    if plan.table == 4:
        return (
            f"parsed: {plan.scored_lines:,} sentences of {plan.test_set}; the paper: section 23 of"
            " the WSJ"
        )
    paper, sets = "newstest2013, 3,000", _NEWSTEST2013
    if plan.table == 2:
        paper, sets = "newstest2014, 3,003", _NEWSTEST2014
    if plan.test_set in sets and not plan.max_lines:
        return ""
    what = f"the {plan.test_set} split" if plan.test_set in ("dev", "test") else plan.test_set
    return f"decoded: {plan.scored_lines:,} sentences of {what}; the paper: {paper}"


def _is_the_papers_split(plan: RowPlan) -> bool:
    """The problem's own split is the paper's text, and all of it was taken."""
    found = (plan.problem, plan.test_set, plan.scored_lines)
    return plan.table > 2 and found in {
        (TABLE3_PROBLEM, "dev", NEWSTEST2013_SENTENCES),
        (TABLE4_PROBLEM, "test", SECTION23_SENTENCES),
    }


def _precision(result: dict[str, Any]) -> str:
    precision = result["precision"]
    return "" if precision == "float32" else f"activations in {precision} for the paper's float32"


def _averaging(plan: RowPlan) -> str:
    if plan.table == 3:
        return f"{plan.averaged} checkpoints averaged for none" if plan.averaged else ""
    row = TABLE2[plan.row] if plan.table == 2 else TABLE4[plan.row]
    if plan.averaged == row.averaged and plan.save_steps == row.save_steps:
        return ""
    return (
        f"{plan.averaged} checkpoints averaged, {plan.save_steps:,} updates between two, for"
        f" {row.averaged} with {row.save_steps:,}"
    )


def _decoding(plan: RowPlan) -> list[str]:
    paper = {"beam_size": 4, "alpha": 0.6, "extra_length": 50}
    if plan.table == 4:
        paper = {"beam_size": 21, "alpha": 0.3, "extra_length": 300}
    return [
        f"decoded with {name} {getattr(plan, name)} for {value}"
        for name, value in paper.items()
        if getattr(plan, name) != value
    ]


def _devices(result: dict[str, Any]) -> str:
    replicas, simulated = result["replicas"], result["simulate_replicas"]
    names = ", ".join(sorted(set(result["devices"])))
    shown = f"{replicas} device{'s' if replicas > 1 else ''} ({names})"
    if simulated > 1:
        shown += f", {simulated} batches of each in an update"
    return f"trained on {shown} for {DEVICES} P100"
