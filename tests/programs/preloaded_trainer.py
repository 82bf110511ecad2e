"""Imported by the fork server of forked_trainer.py: TensorFlow, as quiet as in a program."""

from __future__ import annotations

from keras_transformer.cli.quiet import quiet_tensorflow

quiet_tensorflow()

from keras_transformer.cli import trainer  # noqa: E402, F401
from keras_transformer.training import trainer as _with_tensorflow  # noqa: E402, F401
