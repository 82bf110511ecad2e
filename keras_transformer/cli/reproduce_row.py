"""One row of `kt-reproduce` in a process of its own.

    python -m keras_transformer.cli.reproduce_row RUN_DIR

A row that fails, or fills the memory, takes no other with it. Standard input is a pipe from the
program that started it: a byte asks to save and leave, its end means that the program was killed,
and this one leaves at once. Signals are for that program; here they are not heard.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from keras_transformer.cli.log import show_log
from keras_transformer.cli.program import USER_ERROR_STATUS
from keras_transformer.cli.quiet import quiet_tensorflow
from keras_transformer.cli.trainer import DIVERGED_STATUS
from keras_transformer.errors import UserError


def run_row(row_dir: str) -> int:
    """Exit status 0, 1 (diverged), 2 (a user's mistake), 143 (asked to leave; it was saved)."""
    # Before any other thread is there, as threads inherit it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    threading.Thread(target=_listen, daemon=True).start()
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


def _listen() -> None:
    """A byte becomes one SIGTERM, however many were sent besides."""
    while os.read(0, 1):
        os.kill(os.getpid(), signal.SIGTERM)  # waits, together with one that came before
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    os._exit(1)


if __name__ == "__main__":
    sys.exit(run_row(sys.argv[1]))
