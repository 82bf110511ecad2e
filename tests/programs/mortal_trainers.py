"""Run by test_killed_trainer.py in a process of its own: trainers that die at a given moment.

TensorFlow is imported once, before its threads start, and each trainer is a fork: so twenty of
them cost twenty times the building of a tiny model, not of TensorFlow's import. A trainer is
`kt-trainer` itself, from its flags on; a hook on Python's file operations (`sys.addaudithook`)
sends it SIGKILL at the moment that was asked for. Reads a JSON object a line from standard input,
{"arguments": […], "moment": …}, and answers each with the status that the trainer left: minus the
signal, or its exit status.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading

from keras_transformer.cli import trainer
from keras_transformer.training import trainer as _tensorflow_is_imported_here  # noqa: F401

# Beginnings of the names of the files that are opened, renamed or deleted at each kind of moment.
FILES = {
    # Settings, vocabulary and problem, before the first update.
    "start": r"\.?(vocab|run\.json|hparams\.json)",
    # Temporary and final files of a checkpoint, its list, and the old ones that are deleted.
    "checkpoint": r"\.?(model\.ckpt-|checkpoint)",
    # The log, which is written just before the summaries of TensorBoard.
    "summary": r"train_log\.jsonl",
}
# A checkpoint was written: from then on the trainer is in the midst of its work.
AT_WORK = r"\.model\.ckpt-\d+\.\d+\.tmp"
OPERATIONS = ("open", "os.rename", "os.remove")


def die_at(run_dir: str, kind: str, number: int, delay: float) -> None:
    """Sends this process SIGKILL some seconds after the `number`-th operation on such files."""
    seen = {"number": 0, "at_work": kind == "start"}

    def hook(operation: str, arguments: tuple[object, ...]) -> None:
        if operation not in OPERATIONS or not isinstance(arguments[0], (str, os.PathLike)):
            return
        folder, name = os.path.split(os.fspath(arguments[0]))
        if folder != run_dir:
            return
        seen["at_work"] = seen["at_work"] or re.match(AT_WORK, name) is not None
        if not seen["at_work"] or not re.match(FILES[kind], name):
            return
        seen["number"] += 1
        if seen["number"] == number:
            if delay:
                threading.Timer(delay, os.kill, [os.getpid(), signal.SIGKILL]).start()
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def status_of_a_life(request: dict) -> int:
    """Forks one trainer and waits for its end."""
    trainer_id = os.fork()
    if trainer_id == 0:
        status = 70
        try:
            if request["moment"] is not None:
                die_at(**request["moment"])
            status = trainer.main(request["arguments"])
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(trainer_id, 0)[1])


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(status_of_a_life(json.loads(line))), flush=True)
