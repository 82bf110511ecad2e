"""A T2T run directory made ours in place, so that a kill at any moment loses nothing.

    RUN/.adoption/             the new run directory, while and after it is written
    RUN/.adoption/t2t/         copies of what T2T's tools want to find beside their checkpoints
    RUN/.adoption/plan.json    there once all of that is: the names of T2T's checkpoint files

Before the plan is there, nothing of T2T's has been touched, and what was written is thrown away by
the next start. From then on files are only renamed, T2T's into `t2t/` first, `run.json` last; who
finds the plan does what is left of it and needs neither settings nor model for that.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from keras_transformer.errors import UserError
from keras_transformer.run_dir import (
    ADOPTION_PLAN,
    HPARAMS_FILE,
    RUN_FILE,
    RunDir,
    write_text_atomically,
)

if TYPE_CHECKING:
    from keras_transformer.t2t_compat.run_directory import T2TRunDir

# Folder in which an adopted run directory keeps what T2T wrote.
ORIGINALS = "t2t"
# What T2T wrote beside checkpoints and flags.
_T2T_FILES = (HPARAMS_FILE, "checkpoint", "graph.pbtxt")


def adopt(
    run: T2TRunDir,
    data_dir: str | os.PathLike[str] | None = None,
    usr_dir: str | None = None,
) -> RunDir:
    """Turns a T2T run directory into one of this project, in place, so that training can go on.

    T2T's own files move to its folder `t2t/`; nothing of them is changed. Killed at any moment, it
    is done again or finished by the next start.

    Raises:
        UserError: as `importing.import_run`, or the checkpoint has no optimizer state to go on
            from, or there is a `t2t/` of something else, or another trainer is at work here.
    """
    from keras_transformer.t2t_compat.importing import read_run, write_run
    from keras_transformer.training.run_lock import run_lock

    content = read_run(run, data_dir)
    if content.moments is None:
        raise UserError(
            f"{content.loaded.reader.prefix} holds no state of the optimizer"
            f" {run.hparams.optimizer}, so training cannot go on from it; begin a new run with"
            " --init_from"
        )
    originals, new = run.path / ORIGINALS, (run.path / ADOPTION_PLAN).parent
    if originals.exists() and (not originals.is_dir() or any(originals.iterdir())):
        raise UserError(
            f"{originals} is there already: Tensor2Tensor's files are to move to it; give it"
            " another name"
        )
    with run_lock(run.path):
        shutil.rmtree(new, ignore_errors=True)  # of a start that was killed
        (new / ORIGINALS).mkdir(parents=True)
        write_run(run, content, new, data_dir or run.data_dir or run.path, usr_dir)
        names = sorted(os.listdir(run.path))
        for name in names:
            if name in _T2T_FILES or name.startswith("flags"):
                shutil.copyfile(run.path / name, new / ORIGINALS / name)
        plan = [name for name in names if name.startswith("model.ckpt-")]
        write_text_atomically(run.path / ADOPTION_PLAN, json.dumps(plan, indent=1) + "\n")
        _carry_out(run.path)
    return RunDir.open(run.path, usr_dir=usr_dir)


def finish(folder: Path) -> None:
    """Does what is left of a plan, if there is one; a few renames.

    Raises:
        UserError: another trainer is at work here.
    """
    from keras_transformer.training.run_lock import run_lock

    if (folder / ADOPTION_PLAN).is_file():
        with run_lock(folder):
            _carry_out(folder)


def _carry_out(folder: Path) -> None:
    originals, plan = folder / ORIGINALS, folder / ADOPTION_PLAN
    originals.mkdir(exist_ok=True)
    for name in json.loads(plan.read_text(encoding="utf-8")):
        # A file of this name in the folder is ours already, if T2T's has been moved.
        if not (originals / name).exists():
            os.replace(folder / name, originals / name)
    new = plan.parent
    for path in sorted((new / ORIGINALS).iterdir()):
        os.replace(path, originals / path.name)
    rest = sorted(path for path in new.iterdir() if path.is_file() and path != plan)
    for path in sorted(rest, key=lambda path: path.name == RUN_FILE):
        os.replace(path, folder / path.name)
    plan.unlink()
    shutil.rmtree(new)
