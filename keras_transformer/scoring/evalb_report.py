"""EVALB's table and summary as text, and the same figures as JSON."""

from __future__ import annotations

from typing import Any

from keras_transformer.scoring.brackets import EvalbResult, printable
from keras_transformer.scoring.evalb_figures import SentenceScore, Summary

_RULE = "=" * 76
_HEAD = (
    "  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
    " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy\n" + _RULE
)
# Name in the summary, name in JSON.
_COUNTS = (
    ("Number of sentence", "sentences"),
    ("Number of Error sentence", "error"),
    ("Number of Skip  sentence", "skip"),
    ("Number of Valid sentence", "valid"),
)
_FIGURES = (
    ("Bracketing Recall", "recall"),
    ("Bracketing Precision", "precision"),
    ("Bracketing FMeasure", "fmeasure"),
    ("Complete match", "complete_match"),
    ("Average crossing", "average_crossing"),
    ("No crossing", "no_crossing"),
    ("2 or less crossing", "two_or_less_crossing"),
    ("Tagging accuracy", "tagging_accuracy"),
)


def evalb_text(result: EvalbResult, with_sentences: bool = True) -> str:
    """What EVALB prints on standard output, sign for sign, so that scripts that read it work on.

    Only "-nan" is "nan" here, and a run that EVALB breaks off has its end.
    """
    lines = []
    if with_sentences:
        lines += [_HEAD, *map(_sentence_line, result.sentences), _RULE]
        lines += [_total_line(result.all)]
    lines += ["=== Summary ===", "", "-- All --", *_summary_lines(result.all)]
    lines += ["", f"-- len<={result.parameters.cutoff_length} --", *_summary_lines(result.short)]
    return "\n".join(lines)


def label_table(result: EvalbResult) -> str:
    """Counts and figures by label, the most frequent first; under 100 columns."""
    lines = [
        f"{'label':<16}{'gold':>8}{'test':>8}{'matched':>9}{'recall':>9}{'precision':>11}{'F1':>8}"
    ]
    by_frequency = sorted(result.labels.items(), key=lambda item: (-item[1].gold, item[0]))
    for label, counts in by_frequency:
        lines.append(
            f"{printable(label) or '(none)':<16}{counts.gold:>8}{counts.test:>8}{counts.found:>9}"
            f"{counts.recall:>9.2f}{counts.precision:>11.2f}{counts.fmeasure:>8.2f}"
        )
    return "\n".join(lines)


def notes(result: EvalbResult) -> list[str]:
    """Where EVALB itself would have stopped or gone astray, one sentence each."""
    lines = list(result.parameters.warnings)
    if result.stopped_at is not None:
        lines.append(
            f"EVALB would have stopped at line {result.stopped_at} without a summary (MAX_ERROR is "
            f"{result.parameters.max_error}); the figures here are over all lines"
        )
    if result.beyond:
        lines.append(
            "EVALB would have stopped or printed chance figures at: " + "; ".join(result.beyond)
        )
    return lines


def as_json(result: EvalbResult) -> dict[str, Any]:
    """The figures rounded to the two decimals that EVALB prints; None where it prints nan."""
    return {
        "parameters": result.parameters.name,
        "skipping": result.skipping,
        "sentences": [_sentence_dict(score) for score in result.sentences],
        "all": _summary_dict(result.all),
        f"len_le_{result.parameters.cutoff_length}": _summary_dict(result.short),
        "labels": {
            printable(label): {
                "gold": counts.gold,
                "test": counts.test,
                "matched": counts.found,
                "recall": _rounded(counts.recall),
                "precision": _rounded(counts.precision),
                "fmeasure": _rounded(counts.fmeasure),
            }
            for label, counts in sorted(result.labels.items())
        },
        "messages": result.messages,
        "evalb_stops_at": result.stopped_at,
        "beyond_evalb": result.beyond,
    }


def _sentence_line(score: SentenceScore) -> str:
    return (
        f"{score.number:4d}  {score.length:3d}    {score.status:d}  "
        f"{score.recall:6.2f} {score.precision:6.2f}   {score.matched:3d}    "
        f"{score.gold_brackets:3d}  {score.test_brackets:3d}    {score.crossing:3d}   "
        f"{score.words:4d}  {score.correct_tags:4d}   {score.tag_accuracy:6.2f}"
    )


def _total_line(total: Summary) -> str:
    line = ""
    if total.gold_brackets and total.test_brackets:
        line = (
            f"                {total.recall:6.2f} {total.precision:6.2f} {total.matched:6d} "
            f"{total.gold_brackets:5d} {total.test_brackets:5d}  {total.crossing:5d}"
        )
    return f"{line}  {total.words:5d} {total.correct_tags:5d}   {total.tagging_accuracy:6.2f}"


def _summary_lines(summary: Summary) -> list[str]:
    values = _summary_dict(summary)
    lines = [f"{name:<25} = {values[key]:6d}" for name, key in _COUNTS]
    for name, key in _FIGURES:
        value = values[key]
        lines.append(f"{name:<25} = " + ("   nan" if value is None else f"{value:6.2f}"))
    return lines


def _summary_dict(summary: Summary) -> dict[str, Any]:
    counts = {
        "sentences": summary.sentences,
        "error": summary.error,
        "skip": summary.skip,
        "valid": summary.scored,
    }
    return counts | {key: _rounded(getattr(summary, key)) for _, key in _FIGURES}


def _sentence_dict(score: SentenceScore) -> dict[str, Any]:
    return {
        "id": score.number,
        "length": score.length,
        "status": score.status,
        "recall": _rounded(score.recall),
        "precision": _rounded(score.precision),
        "matched": score.matched,
        "gold_brackets": score.gold_brackets,
        "test_brackets": score.test_brackets,
        "crossing": score.crossing,
        "words": score.words,
        "correct_tags": score.correct_tags,
        "tag_accuracy": _rounded(score.tag_accuracy),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.2f}")
