"""Results as Markdown whose columns also line up on a screen of 100 columns, and as JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from keras_transformer.hparams.table3 import ROWS as TABLE3
from keras_transformer.reproduce.paper import TABLE2, TABLE4, estimated_flops
from keras_transformer.reproduce.recipes import FOLLOWED
from keras_transformer.reproduce.results import Result, plan_of, unlike

WIDTH = 100
TITLES = {
    2: "Table 2: BLEU and training cost",
    3: "Table 3: variations of the base model",
    4: "Table 4: English constituency parsing",
}


def markdown(results: Sequence[Result]) -> str:
    """The whole page: figures beside the paper's, what is followed, and every deviation."""
    table = plan_of(results[0]).table
    parts = [f"# {TITLES[table]}", *_TABLES[table](results), _cost(results)]
    parts += [
        "## What of the paper is followed, but for the deviations below",
        _list(FOLLOWED[table]),
    ]
    parts += ["## Deviations from the paper", _deviations(results)]
    differing = unlike(results)
    if differing:
        parts += ["## Rows that are not alike", _list(differing)]
    return "\n\n".join(parts) + "\n"


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """Every figure of every row, with the paper's under `paper`."""
    table = plan_of(results[0]).table
    rows = {}
    for result in results:
        own = {name: value for name, value in result.items() if name != "format"}
        row = plan_of(result).row
        rows[row] = {**own, **_by_the_papers_method(result), "paper": printed(table, row)}
    return {
        "table": table,
        "followed": list(FOLLOWED[table]),
        "unlike": unlike(results),
        "rows": rows,
    }


def printed(table: int, row: str) -> dict[str, Any]:
    """What the paper prints for a row."""
    if table == 2:
        line = TABLE2[row]
        return {"bleu": line.bleu, "training_flops": line.flops, "steps": line.steps}
    if table == 4:
        return {"f1": TABLE4[row].f1}
    paper = TABLE3[row]
    return {
        "perplexity": paper.perplexity,
        "bleu": paper.bleu,
        "parameters_millions": paper.parameters,
        "steps": paper.steps,
    }


def _table3(results: Sequence[Result]) -> list[str]:
    header = ["row", "change", "steps", "PPL", "paper", "/word", "BLEU", "paper", "sacre"]
    lines = []
    for result in results:
        plan = plan_of(result)
        paper = TABLE3[plan.row]
        lines.append(
            [
                *(plan.row, plan.change, f"{plan.steps:,}"),
                *(_number(result["perplexity"]), f"{paper.perplexity:.2f}"),
                _number(result["perplexity_per_word"]),
                *(f"{_papers_bleu(result):.1f}", f"{paper.bleu:.1f}"),
                f"{result['bleu']['sacrebleu']['score']:.1f}",
            ]
        )
    return [aligned(header, lines), *_against_base(results)]


def _against_base(results: Sequence[Result]) -> list[str]:
    """Each row's distance to the base row, here and in the paper: what a small run can show."""
    rows = {plan_of(result).row: result for result in results}
    if "base" not in rows or len(rows) == 1:
        return []
    base, papers_base = rows["base"], TABLE3["base"]
    header = ["row", "change", "ln PPL", "paper", "BLEU", "paper"]
    lines = []
    for row, result in rows.items():
        if row == "base":
            continue
        paper = TABLE3[row]
        lines.append(
            [
                *(row, plan_of(result).change),
                f"{math.log(result['perplexity'] / base['perplexity']):+.3f}",
                f"{math.log(paper.perplexity / papers_base.perplexity):+.3f}",
                f"{_papers_bleu(result) - _papers_bleu(base):+.1f}",
                f"{paper.bleu - papers_base.bleu:+.1f}",
            ]
        )
    return [
        "Against the base row: perplexity as a difference of logarithms (+0.01 is 1 % worse),\n"
        "BLEU as a difference:",
        aligned(header, lines),
    ]


def _table2(results: Sequence[Result]) -> list[str]:
    header = ["row", "steps", "average", "BLEU", "paper", "sacre", "PPL", "FLOPs", "paper"]
    lines, notes = [], []
    for result in results:
        plan = plan_of(result)
        paper = TABLE2[plan.row]
        estimate = _by_the_papers_method(result)["flops_by_the_papers_method"]
        lines.append(
            [
                *(plan.row, f"{plan.steps:,}", str(plan.averaged)),
                *(f"{_papers_bleu(result):.1f}", f"{paper.bleu:.1f}"),
                f"{result['bleu']['sacrebleu']['score']:.1f}",
                *(_number(result["perplexity"]), _power(estimate), _power(paper.flops)),
            ]
        )
        if paper.note:
            notes.append(f"{plan.row}: {paper.note}")
    signatures = {result["bleu"]["sacrebleu"]["signature"] for result in results}
    notes += [f"sacreBLEU: {signature}" for signature in sorted(signatures)]
    if any(not plan_of(result).sustained_tflops for result in results):
        notes.append(
            "FLOPs by the paper's method need the sustained speed of a device: --sustained_tflops"
            " (the paper assumed 9.5 for a P100)"
        )
    return [aligned(header, lines), _list(notes)]


def _table4(results: Sequence[Result]) -> list[str]:
    header = ["row", "training", "steps", "F1", "paper", "recall", "precision", "left out"]
    lines = []
    for result in results:
        plan = plan_of(result)
        found = result["brackets"]
        lines.append(
            [
                *(plan.row, plan.change, f"{plan.steps:,}"),
                *(_percent(found["f1"]), f"{TABLE4[plan.row].f1:.1f}"),
                *(_percent(found["recall"]), _percent(found["precision"])),
                f"{found['left_out']} of {found['sentences']}",
            ]
        )
    return [aligned(header, lines)]


def _cost(results: Sequence[Result]) -> str:
    header = ["row", "parameters", "paper", "tokens/update", "s/step", "FLOP/step", "FLOP/s"]
    header.append("training FLOPs")
    lines = []
    for result in results:
        plan = plan_of(result)
        millions = TABLE3[plan.row].parameters if plan.table == 3 else None
        tokens = result["target_tokens_per_update"]
        seconds = result["seconds_per_step"]
        lines.append(
            [
                *(plan.row, f"{result['parameters']:,}", f"{millions}M" if millions else ""),
                f"{tokens:,.0f}" if tokens else "",
                f"{seconds:.3g}" if seconds else "",
                *(_power(result.get(name)) for name in _COUNTED),
            ]
        )
    return (
        "Cost: target tokens of an update; seconds of one, the median; its FLOPs, counted:\n\n"
        + aligned(header, lines)
    )


_COUNTED = ("flops_per_step", "flops_per_second", "training_flops")
_TABLES = {2: _table2, 3: _table3, 4: _table4}


def _by_the_papers_method(result: Result) -> dict[str, float | None]:
    """Training time times devices times sustained FLOP/s; None if one of them is not known."""
    sustained = plan_of(result).sustained_tflops * 1e12
    seconds = result.get("training_seconds")
    if not sustained or not seconds:
        return {"flops_by_the_papers_method": None}
    flops = estimated_flops(seconds, result["replicas"], sustained)
    return {"flops_by_the_papers_method": flops}


def _papers_bleu(result: Result) -> float:
    """BLEU of tokenised text; German compounds split."""
    scores = result["bleu"]
    return float((scores.get("paper") or scores["moses"])["score"])


def _deviations(results: Sequence[Result]) -> str:
    """Those of all rows once, then those of single rows."""
    everywhere = [
        sentence
        for sentence in results[0]["deviations"]
        if all(sentence in result["deviations"] for result in results)
    ]
    lines = list(everywhere)
    for result in results:
        own = [sentence for sentence in result["deviations"] if sentence not in everywhere]
        lines += [f"{plan_of(result).row}: {sentence}" for sentence in own]
    return _list(lines) if lines else "None."


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; columns of numbers to the right."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    right = [
        column > 0 and all(_is_number(row[column]) for row in rows) for column in range(len(header))
    ]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        return "| " + " | ".join(padded) + " |"

    rule = [
        "-" * (width - to_right) + ":" * to_right
        for width, to_right in zip(widths, right, strict=True)
    ]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])


def _is_number(cell: str) -> bool:
    return not cell or cell.lstrip("+-−")[:1].isdigit()


def _list(sentences: Sequence[str]) -> str:
    return "\n".join(
        textwrap.fill(
            f"- {sentence}",
            WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for sentence in sentences
    )


def _number(value: float) -> str:
    """Three or four figures, and no more width than a column has."""
    return f"{value:.2f}" if value < 1000 else f"{value:.2g}"


def _percent(value: float | None) -> str:
    return "nan" if value is None else f"{value:.1f}"


def _power(value: float | None) -> str:
    return f"{value:.2e}".replace("e+", "e") if value else ""
