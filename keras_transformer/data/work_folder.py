"""The folder in which a generation works: the sign that the data beside it is not finished.

It is held by one process at a time. A kill leaves it, and the shards in it are thrown away by the
next run; a mistake in the sources removes it with everything that was made from them.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.data import shards
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.data.text_problem import Text2TextProblem


@contextmanager
def work_folder(
    problem: Text2TextProblem, data_dir: str, splits: Mapping[str, int]
) -> Iterator[Path]:
    """An empty work folder, held by this process alone; removed when all went well."""
    name = problem.dataset_filename()
    for split, count in splits.items():
        others = shards.other_sets(data_dir, name, split, count)
        if others:
            raise UserError(
                f"{data_dir} holds {others[0]}, of another set of {name}-{split} shards than the"
                f" {count} to be made: take those files away or use another --data_dir"
            )
    work = shards.partial_dir(data_dir, name)
    work.mkdir(exist_ok=True)
    with (work / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"another process is making the data of {name} in {data_dir} (it holds"
                f" {work / 'lock'}): wait for it, or use another --data_dir"
            ) from None
        for left_over in work.glob(f"{name}-*"):
            left_over.unlink()
        _forget_other_vocabularies(problem, work / "sources.json", data_dir)
        try:
            yield work
        except Exception:
            # A mistake in the sources: nothing of this run stays. (After a kill or Ctrl-C the
            # folder stays, as the sign that the data is not finished.)
            _remove_learnt(work / "sources.json", data_dir)
            shutil.rmtree(work)
            raise
        shutil.rmtree(work)


def _forget_other_vocabularies(problem: Text2TextProblem, note: Path, data_dir: str) -> None:
    """Keeps the vocabulary of a run that was cut off only if its sources were the same ones."""
    sources = problem.source_fingerprint()
    if note.is_file() and json.loads(note.read_text("utf-8"))["sources"] == sources:
        return
    _remove_learnt(note, data_dir)
    files = sorted({name for name in problem.feature_vocab_files().values() if name})
    missing = [name for name in files if not Path(data_dir, name).is_file()]
    write_json(note, {"sources": sources, "learnt": missing})


def _remove_learnt(note: Path, data_dir: str) -> None:
    if note.is_file():
        for name in json.loads(note.read_text("utf-8"))["learnt"]:
            Path(data_dir, name).unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Writes a JSON file, whole or not at all."""
    unfinished = path.with_name(path.name + ".incomplete")
    unfinished.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")
    os.replace(unfinished, path)
