"""TensorFlow on the CPU, with a fixed number of threads."""

from __future__ import annotations

import tensorflow as tf


def keep_to(threads: int) -> None:
    """Must be called before TensorFlow computes anything."""
    tf.config.set_visible_devices([], "GPU")
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
