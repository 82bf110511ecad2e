"""Trainers in processes of their own that need not import TensorFlow each.

The fork server of `multiprocessing` imports it once, before its threads start; each trainer is a
fork of that server: `kt-trainer` itself, from its flags on, at a fraction of the time.
"""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.process import BaseProcess
from pathlib import Path


def fork_trainer(arguments: list[str], output: Path, **environment: str) -> BaseProcess:
    """Starts one; what it writes goes to a file.

    Args:
        arguments: flags of kt-trainer.
        output: takes standard output and standard error.
        environment: variables for it.

    Returns:
        The process; its `exitcode` becomes the trainer's status, or minus the signal that killed.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.programs.preloaded_trainer"])
    process = context.Process(
        target=_train, args=(arguments, str(output), environment), daemon=True
    )
    process.start()
    return process


def _train(arguments: list[str], output: str, environment: dict[str, str]) -> None:
    from keras_transformer.cli import trainer

    stream = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    os.environ.update(environment)
    status = 70
    try:
        status = trainer.main(arguments)
    finally:
        os._exit(status)
