"""The rows that are done, found in one or several folders and checked against each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_transformer.errors import UserError
from keras_transformer.reproduce.plan import RowPlan, plan_from_dict
from keras_transformer.reproduce.recipes import TABLES
from keras_transformer.reproduce.row import FORMAT, RESULT_FILE

Result = dict[str, Any]

# What every row of one experiment has in common, by the names of `RowPlan`.
_ALIKE = (
    *("problem", "steps", "base_set", "seed", "precision", "simulate_replicas", "averaged"),
    *("test_set", "scored_lines", "text_sha256", "beam_size", "alpha", "extra_length"),
)


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
        plan_from_dict(result["plan"])
        if result["format"] != FORMAT:
            raise ValueError(f"its format is {result['format']}, this release reads {FORMAT}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is not what this release of kt-reproduce writes ({error}); restore it from a"
            " copy, or delete it to score the row again"
        ) from None
    return result


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
        names = ["base_set", "seed", "precision", "beam_size", "alpha", "extra_length"]
    sentences = []
    for name in names:
        values: dict[str, list[str]] = {}
        for plan in plans:
            values.setdefault(json.dumps(getattr(plan, name)), []).append(plan.row)
        if len(values) > 1:
            groups = "; ".join(f"{value} in {', '.join(rows)}" for value, rows in values.items())
            sentences.append(f"{name} differs: {groups}")
    if plans and plans[0].table == 3:
        digests = {json.dumps(result["vocabularies"], sort_keys=True) for result in results}
        if len(digests) > 1:
            sentences.append("the rows have different vocabularies: perplexities do not compare")
    return sentences
