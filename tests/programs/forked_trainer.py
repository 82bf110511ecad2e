"""Trainers in processes of their own that need not import TensorFlow each.

The fork server of `multiprocessing` imports it once, before its threads start; each trainer is a
fork of that server: `kt-trainer` itself, from its flags on, at a fraction of the time.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest import mock


def fork_trainer(
    arguments: list[str],
    output: Path,
    prepare: Callable[[], object] | None = None,
    **environment: str,
) -> BaseProcess:
    """Starts one; what it writes goes to a file.

    Args:
        arguments: flags of kt-trainer.
        output: takes standard output and standard error.
        prepare: called in the process before the trainer; a function of this module.
        environment: variables for it.

    Returns:
        The process; its `exitcode` becomes the trainer's status, or minus the signal that killed.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.programs.preloaded_trainer"])
    process = context.Process(
        target=_train, args=(arguments, str(output), prepare, environment), daemon=True
    )
    process.start()
    return process


def dies_as_it_connects() -> None:
    """The process dies at once when TensorFlow is to connect the workers, which have met."""
    name = "keras_transformer.training.distribution.strategy"
    mock.patch(name, lambda **_: os._exit(77)).start()


def waits_briefly_for_connections() -> None:
    """Seconds instead of the most of a minute until a worker that is not there counts as lost."""
    mock.patch("keras_transformer.training.worker_watch.LOST_AFTER_MEETING", 3.0).start()


def _train(
    arguments: list[str],
    output: str,
    prepare: Callable[[], object] | None,
    environment: dict[str, str],
) -> None:
    from keras_transformer.cli import trainer

    stream = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    os.environ.update(environment)
    if prepare is not None:
        prepare()
    status = 70
    try:
        status = trainer.main(arguments)
    finally:
        os._exit(status)
