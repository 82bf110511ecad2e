"""What happened in a run, for scripts and for TensorBoard.

    <run_dir>/train_log.jsonl       one JSON object a line: {"event": "train", "step": 100, …}
    <run_dir>/events.out.tfevents.* scalars of training
    <run_dir>/eval/                 scalars of evaluation, under T2T's names

Events: `start`, `resume`, `train`, `checkpoint`, `eval`, `nan`, `end`. Each line is written at once
and whole.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

LOG_FILE = "train_log.jsonl"
EVAL_FOLDER = "eval"


def events(run_dir: str | os.PathLike[str], kind: str) -> Iterator[dict[str, Any]]:
    """The lines of one event in the order written; a line cut off by a kill is left out."""
    path = os.path.join(run_dir, LOG_FILE)
    if not os.path.isfile(path):
        return
    with open(path, encoding="utf-8") as stream:
        for text in stream:
            try:
                record = json.loads(text)
            except ValueError:
                continue
            if isinstance(record, dict) and record.get("event") == kind:
                yield record


class TrainLog:
    """The log of one run directory.

    Args:
        run_dir: the directory.
        problem_name: for T2T's names of metrics, `metrics-<problem>/targets/<metric>`.
        eval_folder: folder of the evaluation's events.
    """

    def __init__(
        self, run_dir: str | os.PathLike[str], problem_name: str, eval_folder: str = EVAL_FOLDER
    ):
        self._path = os.path.join(run_dir, LOG_FILE)
        self._tag = f"metrics-{problem_name}/targets/"
        self._folders = {"train": os.fspath(run_dir), "eval": os.path.join(run_dir, eval_folder)}
        self._writers: dict[str, tf.summary.SummaryWriter] = {}

    def event(self, event: str, step: int, **values: Any) -> None:
        """Appends a line."""
        record = {"event": event, "step": step, "time": round(time.time(), 3), **values}
        with open(self._path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")

    def train(self, step: int, rate: float, figures: dict[str, float]) -> None:
        """Figures of the updates up to `step`."""
        self.event("train", step, learning_rate=rate, **figures)
        scalars = {**figures, "learning_rate": rate}
        # T2T's name for the speed, so that old and new curves lie in one chart.
        scalars["global_step/sec"] = scalars.pop("steps_per_second")
        self._scalars("train", step, scalars)

    def evaluation(self, step: int, split: str, figures: dict[str, float]) -> None:
        """Figures of an evaluation of the checkpoint of `step`."""
        self.event("eval", step, split=split, **figures)
        named = {name if name == "loss" else self._tag + name: v for name, v in figures.items()}
        self._scalars("eval", step, named)

    def translations(self, step: int, triples: Sequence[tuple[str, str, str]]) -> None:
        """Shows source, translation and reference of a few sentences in TensorBoard."""
        rows = ["| source | translation | reference |", "| --- | --- | --- |"]
        for triple in triples:
            cells = (text.replace("|", "\\|").replace("\n", " ") for text in triple)
            rows.append("| " + " | ".join(cells) + " |")
        with self._writer("eval").as_default(step=step):
            tf.summary.text("translations", "\n".join(rows))

    def _writer(self, kind: str) -> tf.summary.SummaryWriter:
        if kind not in self._writers:
            self._writers[kind] = tf.summary.create_file_writer(self._folders[kind])
        return self._writers[kind]

    def _scalars(self, kind: str, step: int, values: dict[str, float]) -> None:
        with self._writer(kind).as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(name, value)
        self._writer(kind).flush()

    def close(self) -> None:
        """Closes the event files."""
        for writer in self._writers.values():
            writer.close()
