"""What one row is made of: settings, data, steps and how it is scored; a file in its run directory.

Everything that the row's figures depend on is written down before it begins. A restart with another
plan is refused, so that no table mixes two experiments in silence.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keras_transformer.config import HParams
from keras_transformer.errors import UserError
from keras_transformer.run_dir import write_text_atomically

PLAN_FILE = "row_plan.json"

# Where things are and how fast they go: no figure depends on it, so a restart may change it.
_FREE = {"data_dir", "tmp_dir", "usr_dir", "gpus", "jit", "sustained_tflops"}
# Words for the reader, made from the rest.
_WORDS = {"change", "notes"}


@dataclass(frozen=True)
class RowPlan:
    """One row of one table.

    Attributes:
        table: 2, 3 or 4.
        row: its name.
        change: what differs from the table's base, for the reader.
        base_set: the set that takes the place of the paper's.
        hparams_set: the set recorded in the run directory.
        hparams: every hyperparameter.
        problem, problem_options: what is learnt.
        steps: updates.
        save_steps: updates between checkpoints.
        averaged: newest checkpoints averaged before scoring; 0: the last one as it is.
        test_set: what is decoded: a split of the problem, a test set of sacreBLEU, or two files.
        max_lines: decode only the first ones; 0: all.
        target_language: for the tokenizers of the BLEU measures.
        beam_size, alpha, extra_length: of decoding.
        seed, precision, deterministic, simulate_replicas: as kt-trainer's.
        notes: what stands among the deviations: settings, rounded sizes.
        scored_lines, text_sha256: what `test_set` turned out to be.
    """

    table: int
    row: str
    change: str
    base_set: str
    hparams_set: str
    hparams: dict[str, Any]
    problem: str
    problem_options: dict[str, Any]
    steps: int
    save_steps: int
    averaged: int
    test_set: str
    max_lines: int
    target_language: str
    beam_size: int
    alpha: float
    extra_length: int
    seed: int = 1
    precision: str = ""
    deterministic: bool = False
    simulate_replicas: int = 1
    notes: list[str] = field(default_factory=list)
    scored_lines: int = 0
    text_sha256: dict[str, str] = field(default_factory=dict)
    data_dir: str = ""
    tmp_dir: str = ""
    usr_dir: str = ""
    gpus: int | None = None
    jit: bool = False
    sustained_tflops: float = 0.0

    @property
    def settings(self) -> HParams:
        """The hyperparameters, checked."""
        return HParams.from_dict(self.hparams)

    def as_dict(self) -> dict[str, Any]:
        """Every attribute, ready for JSON."""
        return dataclasses.asdict(self)

    def save(self, row_dir: Path) -> None:
        """Writes the plan, whole or not at all."""
        row_dir.mkdir(parents=True, exist_ok=True)
        write_text_atomically(row_dir / PLAN_FILE, json.dumps(self.as_dict(), indent=1) + "\n")

    def differences(self, other: RowPlan) -> list[tuple[str, Any, Any]]:
        """(name, here, in `other`) of all that the figures depend on; hyperparameters one by
        one."""
        left_out = {*_FREE, *_WORDS, "hparams"}
        if not self.averaged and not other.averaged:
            left_out.add("save_steps")
        # As JSON has them, where a tuple is a list.
        mine, theirs = (json.loads(json.dumps(plan.as_dict())) for plan in (self, other))
        found = [
            (name, mine[name], theirs[name])
            for name in sorted(mine)
            if name not in left_out and mine[name] != theirs[name]
        ]
        return found + self.settings.differences(other.settings)


def read_plan(row_dir: Path) -> RowPlan | None:
    """The plan of a row that was begun; None if there is none.

    Raises:
        UserError: the file is damaged.
    """
    path = row_dir / PLAN_FILE
    if not path.is_file():
        return None
    try:
        plan = plan_from_dict(json.loads(path.read_text(encoding="utf-8")))
        HParams.from_dict(plan.hparams)
    except (OSError, ValueError, TypeError, AttributeError, UserError) as error:
        raise UserError(
            f"{path} is not what kt-reproduce writes ({error}); restore it from a copy, or delete"
            f" {row_dir} to do the row again"
        ) from None
    return plan


def plan_from_dict(values: dict[str, Any]) -> RowPlan:
    """The plan of `as_dict`.

    Raises:
        TypeError: it is no dict, or a name is missing or unknown.
    """
    if not isinstance(values, dict):
        raise TypeError("a plan is one JSON object")
    names = {field.name: field for field in dataclasses.fields(RowPlan)}
    unknown = sorted(values.keys() - names.keys())
    if unknown:
        raise TypeError(f"a plan has no {', '.join(unknown)}")
    missing = [
        name
        for name, field in names.items()
        if name not in values
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise TypeError(f"the plan lacks {', '.join(missing)}")
    return RowPlan(**values)


def require_same(row_dir: Path, begun: RowPlan, wanted: RowPlan) -> None:
    """Refuses to go on with a row under another plan.

    Raises:
        UserError: with every difference.
    """
    differences = begun.differences(wanted)
    if differences:
        lines = [f"  {name}: {old!r} there, {new!r} now" for name, old, new in differences]
        raise UserError(
            f"{row_dir} was begun with other settings than are asked for now:\n"
            + "\n".join(lines)
            + "\ngive what it was begun with, or another --output_dir; or delete that folder to do"
            " the row again"
        )
