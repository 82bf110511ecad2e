"""A T2T run directory made ours in place: nothing is lost, whenever it is killed."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformer.errors import UserError
from keras_transformer.run_dir import ADOPTION_PLAN, RunDir
from keras_transformer.t2t_compat import adoption
from keras_transformer.training import checkpoints
from keras_transformer.training.run_lock import run_lock
from tests.unit.t2t_compat.bundles import (
    BASE_V3,
    GOLDEN,
    TRAINER_RUN,
    changed_copy,
    copy_run,
    without,
)

ROOT = Path(__file__).parents[3]
VOCABULARY = GOLDEN / "data_pipeline" / "data" / "vocab.oracle_toy_ende.256.subwords"
NAMED = {
    "vocab_file": str(VOCABULARY),
    "hparams_set": "transformer_base",
    "overrides": "hidden_size=32,num_heads=4",
}


def open_t2t(folder, **options):
    return RunDir.open(folder, vocab_file=str(folder / "vocab.shared.subwords"), **options)


def without_settings(folder):
    """A copy of the trainer's run as an old release leaves it: no hparams.json, no flags."""
    copy_run(TRAINER_RUN, folder)
    (folder / "hparams.json").unlink()
    return folder


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_what_t2t_wrote_is_kept(tmp_path):
    folder = copy_run(BASE_V3, tmp_path / "run")
    (folder / "flags.txt").write_text("--hparams_set=transformer_base\n")
    before = contents(folder)
    run = adoption.adopt(open_t2t(folder))
    assert not run.is_t2t and run.hparams_set == "transformer_base"
    after = contents(folder / "t2t")
    assert {"checkpoint", "hparams.json", "model.ckpt-220.index", "flags.txt"} <= set(after)
    assert after == {name: before[name] for name in after}
    # The rest stays where it was.
    assert (folder / "vocab.shared.subwords").read_bytes() == before["vocab.shared.subwords"]
    assert checkpoints.all_steps(folder) == [220]
    assert RunDir.open(folder).problem.name == "text2text"
    assert not (folder / ".adoption").exists()


class Killed(BaseException):
    """What no handler of errors sees, as a kill."""


def killed_before_move(monkeypatch, number, job):
    """Runs `job` up to its renaming of that number; True if it came so far."""
    replace, moves = os.replace, 0

    def dies(*args):
        nonlocal moves
        if moves == number:
            raise Killed
        moves += 1
        replace(*args)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dies)
        try:
            job()
        except Killed:
            return True
    return False


def taken_up(folder):
    """What the next start does."""
    assert RunDir.exists(folder)
    adoption.finish(folder)
    if not (folder / "run.json").is_file():
        adoption.adopt(RunDir.open(folder, **NAMED))
    return contents(folder)


@pytest.mark.slow
def test_a_kill_before_each_move(tmp_path, monkeypatch):
    folder = without_settings(tmp_path / "run")
    theirs = contents(folder)
    adoption.adopt(RunDir.open(folder, **NAMED))
    expected = contents(folder)
    stages = set()
    for number in range(100):
        shutil.rmtree(folder)
        without_settings(folder)
        job = functools.partial(adoption.adopt, RunDir.open(folder, **NAMED))
        if not killed_before_move(monkeypatch, number, job):
            break
        has_begun = (folder / ADOPTION_PLAN).is_file()
        stages.add((has_begun, (folder / "run.json").is_file()))
        left = contents(folder)
        if not has_begun:
            assert {name: left.get(name) for name in theirs} == theirs
        elif not (folder / "run.json").is_file():
            with pytest.raises(UserError, match="start kt-trainer in it, which finishes it"):
                RunDir.open(folder, **NAMED)
        # And the start after it is killed too, one move later.
        killed_before_move(monkeypatch, 1, lambda: adoption.finish(folder))
        assert taken_up(folder) == expected
    assert number > 15 and stages == {(False, False), (True, False)}


def test_a_kill_before_the_plan_is_removed(tmp_path, monkeypatch):
    folder = without_settings(tmp_path / "run")
    with monkeypatch.context() as patch:

        def dies(*args, **kwargs):
            raise Killed

        patch.setattr(Path, "unlink", dies)
        with pytest.raises(Killed):
            adoption.adopt(RunDir.open(folder, **NAMED))
    before = RunDir.open(folder)
    assert not before.is_t2t and (folder / ADOPTION_PLAN).is_file()
    adoption.finish(folder)
    assert not (folder / ".adoption").exists() and checkpoints.all_steps(folder) == [250]


KILLED = """
import os, signal, sys
from pathlib import Path
from keras_transformer.run_dir import RunDir
from keras_transformer.t2t_compat import adoption
replace = os.replace
def dies(source, target):
    if Path(target).parent.name == "t2t" and str(target).endswith(".index"):
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
folder, vocabulary, hparams_set, overrides = sys.argv[1:]
run = RunDir.open(
    folder, vocab_file=vocabulary, hparams_set=hparams_set, overrides=overrides
)
os.replace = dies
adoption.adopt(run)
"""


@pytest.mark.slow
def test_a_process_killed_between_the_files_of_a_checkpoint(tmp_path):
    folder = without_settings(tmp_path / "run")
    expected = taken_up(folder)
    shutil.rmtree(folder)
    without_settings(folder)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), *NAMED.values()], cwd=ROOT, timeout=200
    )
    assert done.returncode == -signal.SIGKILL
    assert not (folder / "t2t" / "model.ckpt-250.index").exists()
    assert any((folder / "t2t").glob("model.ckpt-250.data-*"))
    assert taken_up(folder) == expected


def test_what_is_refused_changes_nothing(tmp_path):
    bare = changed_copy(tmp_path / "bare", without("^training/"))
    with pytest.raises(UserError, match="begin a new run with --init_from"):
        adoption.adopt(open_t2t(bare, target_space_id=0))
    assert not (bare / "t2t").exists()
    folder = copy_run(BASE_V3, tmp_path / "run")
    with run_lock(folder), pytest.raises(UserError, match="another trainer is writing to"):
        adoption.adopt(open_t2t(folder))
    (folder / "t2t").mkdir()
    (folder / "t2t" / "notes").write_text("the user's own")
    before = contents(folder)
    with pytest.raises(UserError, match="t2t is there already"):
        adoption.adopt(open_t2t(folder))
    assert contents(folder) == before
