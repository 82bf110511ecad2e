"""The rows that are done, found in one or several folders and checked against each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.hparams.table3 import PREFIX
from keras_transformer.reproduce.plan import RowPlan, plan_from_dict
from keras_transformer.reproduce.recipes import TABLES
from keras_transformer.reproduce.row import FORMAT, RESULT_FILE

Result = dict[str, Any]

# What every row of one experiment has in common, by the names of `RowPlan`.
_ALIKE = (
    *("problem", "steps", "base_set", "seed", "simulate_replicas", "averaged"),
    *("test_set", "scored_lines", "text_sha256", "beam_size", "alpha", "extra_length"),
)
# What the tables need of every row.
_FIGURES = {
    *("perplexity", "perplexity_per_word", "parameters", "replicas", "precision", "vocabularies"),
    *("seconds_per_step", "target_tokens_per_update", "deviations"),
}


def read_result(row_dir: Path) -> Result | None:
    """What a finished row found; None if it is not finished.

    Raises:
        UserError: the file is damaged, or of another release.
    """
    path = row_dir / RESULT_FILE
    if not path.is_file():
        return None
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(result, dict):
            raise ValueError("it is no JSON object")
        if result["format"] != FORMAT:
            raise ValueError(f"its format is {result['format']}, this release reads {FORMAT}")
        plan = plan_from_dict(result["plan"])
        if plan.row not in TABLES.get(plan.table, {}):
            raise ValueError(f"there is no row {plan.row!r} in a table {plan.table!r}")
        missing = {*_FIGURES, "brackets" if plan.table == 4 else "bleu"} - result.keys()
        if missing:
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
    except KeyError as error:
        raise _damaged(path, f"it lacks {error}") from None
    except (OSError, ValueError, TypeError) as error:
        raise _damaged(path, error) from None
    return result


def _damaged(path: Path, why: object) -> UserError:
    return UserError(
        f"{path} is not what this release of kt-reproduce writes ({why}); restore it from a"
        " copy, or delete it to score the row again"
    )


def plan_of(result: Result) -> RowPlan:
    """The plan a result was made by."""
    return plan_from_dict(result["plan"])


def collect(folders: Sequence[Path]) -> list[Result]:
    """Every finished row below the folders, in the order of the table.

    Args:
        folders: output directories of kt-reproduce, or single run directories of it.

    Raises:
        UserError: nothing is there, rows of several tables, or a row that is there twice with
            different figures.
    """
    found: dict[str, tuple[Path, Result]] = {}
    tables = set()
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder}: there is no such folder")
        for row_dir in [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]:
            result = read_result(row_dir)
            if result is None:
                continue
            row = result["plan"]["row"]
            tables.add(result["plan"]["table"])
            if row in found and found[row][1] != result:
                raise UserError(
                    f"row {row} is in {found[row][0]} and in {row_dir} with other figures: leave"
                    " one of them out"
                )
            found[row] = (row_dir, result)
    if not found:
        raise UserError(f"no finished row in {', '.join(map(str, folders))}")
    if len(tables) > 1:
        numbers = " and ".join(map(str, sorted(tables)))
        raise UserError(f"rows of tables {numbers}: join those of one table at a time")
    return [found[row][1] for row in TABLES[tables.pop()] if row in found]


def unlike(results: Sequence[Result]) -> list[str]:
    """What is not the same in all rows though it should be, a sentence each.

    Rows of Table 2 and 4 differ by design in problem, steps and averaging.
    """
    plans = [plan_of(result) for result in results]
    names = list(_ALIKE)
    if plans and plans[0].table != 3:
        names = ["base_set", "seed", "beam_size", "alpha", "extra_length"]
    sentences = []
    for name in names:
        sentences += _unlike_value(name, {plan.row: getattr(plan, name) for plan in plans})
    precisions = sorted({result["precision"] for result in results})
    if len(precisions) > 1:
        sentences.append(f"precision differs: {' and '.join(precisions)}")
    if plans and plans[0].table == 3:
        sentences += _unlike_settings(plans)
        digests = {json.dumps(result["vocabularies"], sort_keys=True) for result in results}
        if len(digests) > 1:
            sentences.append("the rows have different vocabularies: perplexities do not compare")
    return sentences


def _unlike_settings(plans: Sequence[RowPlan]) -> list[str]:
    """Hyperparameters that differ between rows which the paper does not tell apart by them."""
    papers_base = registry.hparams(f"{PREFIX}base")
    own = {
        plan.row: {
            name for name, _, _ in registry.hparams(f"{PREFIX}{plan.row}").differences(papers_base)
        }
        for plan in plans
    }
    sentences = []
    for name in sorted(set().union(*(plan.hparams for plan in plans))):
        values = {p.row: p.hparams.get(name) for p in plans if name not in own[p.row]}
        sentences += _unlike_value(name, values)
    return sentences


def _unlike_value(name: str, value_of_row: dict[str, Any]) -> list[str]:
    """A sentence if the rows do not have one value; none otherwise."""
    rows_of_value: dict[str, list[str]] = {}
    for row, value in value_of_row.items():
        rows_of_value.setdefault(json.dumps(value), []).append(row)
    if len(rows_of_value) < 2:
        return []
    groups = "; ".join(f"{value} in {', '.join(rows)}" for value, rows in rows_of_value.items())
    return [f"{name} differs: {groups}"]
