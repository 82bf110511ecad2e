"""One row of `kt-reproduce` in a process of its own.

    python -m keras_transformer.cli.reproduce_row RUN_DIR

A row that fails, or fills the memory, takes no other with it. The process ends with the one that
started it: it listens to standard input, a pipe whose other end is gone then.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from keras_transformer.cli.log import show_log
from keras_transformer.cli.program import USER_ERROR_STATUS
from keras_transformer.cli.quiet import quiet_tensorflow
from keras_transformer.cli.trainer import DIVERGED_STATUS
from keras_transformer.errors import UserError


def run_row(row_dir: str) -> int:
    """Exit status 0, 1 (diverged), 2 (a user's mistake), 130 or 143 (a signal; it was saved)."""
    _end_with_the_parent()
    quiet_tensorflow()
    show_log()
    from keras_transformer.reproduce.row import do_row
    from keras_transformer.training.nan_watch import DivergedError

    try:
        return do_row(Path(row_dir))
    except UserError as error:
        print(f"{row_dir}: {error}", file=sys.stderr, flush=True)
        return USER_ERROR_STATUS
    except DivergedError as error:
        print(f"{row_dir}: {error}", file=sys.stderr, flush=True)
        return DIVERGED_STATUS


def _end_with_the_parent() -> None:
    """Leaves at once when the other end of standard input is gone; what is half-written is never
    trusted."""

    def listen() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()


if __name__ == "__main__":
    sys.exit(run_row(sys.argv[1]))
