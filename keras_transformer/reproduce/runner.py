"""Row after row, each in a process of its own, until the table is whole.

    <output_dir>/<row>/row_plan.json     what the row is made of; a run directory else
                      /scored/*.txt      source, reference and translation
                      /row_result.json   written last: the row is done
    <output_dir>/table<n>.md, table<n>.json    all rows that are done

A program that is killed is simply started again: finished rows are left as they are, a row half
trained goes on from its newest checkpoint, and the figures are those of a run never stopped. Rows
know nothing of each other, so they may be made on several machines and joined.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.reproduce import scored_text, tables
from keras_transformer.reproduce.plan import PLAN_FILE, RowPlan, read_plan, require_same
from keras_transformer.reproduce.results import Result, collect, read_result
from keras_transformer.run_dir import write_text_atomically
from keras_transformer.training.interruption import Interruption

ROW_PROGRAM = "keras_transformer.cli.reproduce_row"
_LOOK_EVERY = 0.2


class Runner:
    """Does the rows of a table below one output directory.

    Args:
        output_dir: made if need be.
        plans: the rows, in order.
        screen: where notes go; default standard error.
    """

    def __init__(
        self,
        output_dir: str | os.PathLike[str],
        plans: Sequence[RowPlan],
        screen: TextIO | None = None,
    ):
        self.folder = Path(output_dir)
        self._plans = list(plans)
        self._screen = sys.stderr if screen is None else screen

    def run(self) -> int:
        """Does what is left, and writes the table after each row.

        Returns:
            The exit status: 0; 1 if a row failed, the others being done; 130 or 143 after a signal.

        Raises:
            UserError: a row was begun under another plan, or its data or text cannot be had. No row
                is begun then.
        """
        self._check()
        prepared = [self._prepare(plan) for plan in self._plans]
        failed = []
        for number, plan in enumerate(prepared, start=1):
            row_dir = self.folder / plan.row
            done = f"row {plan.row} ({number} of {len(prepared)})"
            if read_result(row_dir) is not None:
                self._note(f"{done}: done before, left as it is")
                continue
            self._note(f"{done}: {plan.change or 'as it is'}, {plan.steps:,} steps, in {row_dir}")
            status = self._do(row_dir)
            if status in (130, 143):
                self._note(f"{done}: stopped and saved; the same command goes on")
                return status
            if status:
                failed.append(plan.row)
                self._note(f"{done}: failed with status {status}; the same command tries it again")
                continue
            self.write_table()
        if failed:
            self._note(f"not done: {', '.join(failed)}")
            return 1
        self.write_table()
        return 0

    def write_table(self) -> list[Result]:
        """Writes the two files of the table from all rows that are there."""
        results = collect([self.folder])
        write_table(results, self.folder)
        return results

    def _check(self) -> None:
        """Refuses before any work what is known to go wrong."""
        for plan in self._plans:
            begun = read_plan(self.folder / plan.row)
            if begun is not None:
                # The text is compared when it has been read.
                wanted = dataclasses.replace(
                    plan, scored_lines=begun.scored_lines, text_sha256=begun.text_sha256
                )
                require_same(self.folder / plan.row, begun, wanted)
            elif (self.folder / plan.row / "run.json").is_file():
                raise UserError(
                    f"{self.folder / plan.row} is a run directory that kt-reproduce did not begin"
                    f" (it holds no {PLAN_FILE}): give another --output_dir"
                )

        for plan in self._plans:
            # Before hours of making data; a split of the problem is only there after it.
            if plan.test_set not in scored_text.SPLITS:
                problem = registry.problem(plan.problem, **plan.problem_options)
                scored_text.require(plan.test_set, problem)
        self.folder.mkdir(parents=True, exist_ok=True)

    def _prepare(self, plan: RowPlan) -> RowPlan:
        """Makes the row's data and text, and writes its plan."""
        row_dir = self.folder / plan.row
        begun = read_plan(row_dir)
        if begun is not None and read_result(row_dir) is not None:
            return begun
        problem = registry.problem(plan.problem, **plan.problem_options)
        if not problem.is_generated(plan.data_dir):
            problem.generate_data(plan.data_dir, plan.tmp_dir)
        lines, digests = scored_text.prepare(
            row_dir, plan.test_set, plan.max_lines, problem, plan.data_dir, plan.tmp_dir
        )
        whole = dataclasses.replace(plan, scored_lines=lines, text_sha256=digests)
        if begun is not None:
            require_same(row_dir, begun, whole)
        whole.save(row_dir)
        return whole

    def _do(self, row_dir: Path) -> int:
        """The row in its own process; if a signal comes, it is asked to save and leave."""
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p or "." for p in sys.path))
        with Interruption() as interruption:
            process = subprocess.Popen(
                [sys.executable, "-m", ROW_PROGRAM, str(row_dir)],
                stdin=subprocess.PIPE,
                env=environment,
            )
            handed_on = False
            try:
                while True:
                    try:
                        status = process.wait(_LOOK_EVERY)
                        break
                    except subprocess.TimeoutExpired:
                        if interruption.requested and not handed_on:
                            _ask_to_save(process)
                            handed_on = True
            except BaseException:
                process.kill()
                process.wait()
                raise
            finally:
                assert process.stdin is not None
                process.stdin.close()
            if interruption.requested:
                return interruption.exit_status
        return 128 - status if status < 0 else status

    def _note(self, text: str) -> None:
        print(text, file=self._screen, flush=True)


def _ask_to_save(process: subprocess.Popen[bytes]) -> None:
    # By the pipe: a terminal or a batch system may send its signal to both processes, and a second
    # one would end the row before it has saved.
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(b"s")
        process.stdin.flush()


def write_table(results: Sequence[Result], folder: Path) -> None:
    """Writes `table<n>.md` and `table<n>.json` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    content = tables.as_json(results)
    stem = f"table{content['table']}"
    write_text_atomically(folder / f"{stem}.md", tables.markdown(results))
    write_text_atomically(folder / f"{stem}.json", json.dumps(content, indent=1) + "\n")
