"""What happened in a run, for scripts and for TensorBoard.

    <run_dir>/train_log.jsonl       one JSON object a line: {"event": "train", "step": 100, …}
    <run_dir>/events.out.tfevents.* scalars of training
    <run_dir>/eval/                 scalars of evaluation, under T2T's names

Events: `start`, `resume`, `mixture`, `compile`, `train`, `checkpoint`, `eval`, `nan`, `end`. Each
line is written at once. A kill may still cut the last one off: readers pass over it, and the next
run begins a line of its own. After a kill the steps since the last checkpoint are made again, so
they stand here twice, with a `resume` between.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

LOG_FILE = "train_log.jsonl"
EVAL_FOLDER = "eval"


def events(run_dir: str | os.PathLike[str], *kinds: str) -> Iterator[dict[str, Any]]:
    """The lines of some events in the order written; a line cut off by a kill is left out."""
    path = os.path.join(run_dir, LOG_FILE)
    if not os.path.isfile(path):
        return
    with open(path, encoding="utf-8", errors="replace") as stream:
        for text in stream:
            try:
                record = json.loads(text)
            except ValueError:
                continue
            if isinstance(record, dict) and record.get("event") in kinds:
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
        _end_last_line(self._path)

    def event(self, event: str, step: int, **values: Any) -> None:
        """Appends a line."""
        record = {"event": event, "step": step, "time": round(time.time(), 3), **values}
        with open(self._path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")

    def resume(self, step: int, checkpoint: str) -> None:
        """Notes that training goes on at `step`; TensorBoard forgets the updates after it.

        They were made by a run that was killed before its next checkpoint, and are made again.
        """
        self.event("resume", step, path=checkpoint)
        start = SessionLog(status=SessionLog.START)
        for folder in filter(os.path.isdir, self._folders.values()):
            writer = EventFileWriter(folder)
            # TensorBoard takes the first one of a run for its beginning, which takes nothing back.
            for _ in range(2):
                writer.add_event(Event(wall_time=time.time(), step=step + 1, session_log=start))
            writer.close()
        # Files are read in the order of their names, which hold the second they were begun in.
        time.sleep(1.0 - time.time() % 1.0)

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

    def attention(self, step: int, images: Mapping[str, np.ndarray], text: str) -> None:
        """Shows pictures of attention in TensorBoard.

        Args:
            images: name → uint8 [height, width, 3].
            text: the sentence pair they belong to.
        """
        with self._writer("eval").as_default(step=step):
            for name, image in images.items():
                tf.summary.image(f"attention/{name}", image[np.newaxis])
            tf.summary.text("attention/sentences", text)

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


class SilentLog(TrainLog):
    """The log of a worker that is not the chief: it writes nothing."""

    def __init__(self) -> None:
        self._writers = {}

    def event(self, event: str, step: int, **values: Any) -> None:
        pass

    def resume(self, step: int, checkpoint: str) -> None:
        pass

    def _scalars(self, kind: str, step: int, values: dict[str, float]) -> None:
        pass


def _end_last_line(path: str) -> None:
    """Ends the line that a kill cut off, so that the next one is not lost with it."""
    if not os.path.isfile(path) or not os.path.getsize(path):
        return
    with open(path, "r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) != b"\n":
            stream.write(b"\n")
