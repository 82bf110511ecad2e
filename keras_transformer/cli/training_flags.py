"""Flags that say how an update is computed, shared by the programs that train."""

from __future__ import annotations

from keras_transformer.cli.program import Flags, Program
from keras_transformer.errors import UserError


def add_training_flags(program: Program) -> None:
    """Adds seed, precision, devices and what makes one batch of theirs."""
    program.integer("random_seed", 1, "of the first weights, the order of the data and dropout")
    program.boolean("deterministic", False, "bit-equal weights from equal runs; costs some speed")
    program.enum(
        "precision",
        None,
        ["float32", "bfloat16", "float16"],
        "type of activations in training; default: the settings' activation_dtype",
    )
    program.boolean("jit", False, "compile with XLA (one compilation for each shape of batch)")
    program.integer("gpus", None, "GPUs to use; default: all; batch_size is for each", 0)
    program.integer(
        "simulate_replicas",
        1,
        "batches of one device whose gradients make one update, as that many devices would",
        1,
    )


def require_seed(flags: Flags) -> None:
    """Refuses a `--random_seed` that TensorFlow and NumPy cannot both take."""
    if not 0 <= flags.random_seed < 2**32:
        raise UserError(
            f"--random_seed={flags.random_seed}: a seed is a whole number from 0 to 2**32 - 1"
        )
