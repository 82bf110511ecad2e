"""One trainer in a run directory at a time."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from keras_transformer.errors import UserError

LOCK_FILE = ".training"


@contextlib.contextmanager
def run_lock(run_dir: Path) -> Iterator[None]:
    """Holds the run directory while it is trained in; a killed trainer's hold ends with it.

    Two trainers would delete each other's half-written checkpoints.

    Raises:
        UserError: another trainer holds it.
    """
    with (run_dir / LOCK_FILE).open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"another trainer is writing to {run_dir}: wait for it, or give another"
                " --output_dir"
            ) from None
        yield
