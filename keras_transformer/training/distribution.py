"""Devices: which strategy, and how a global batch is shared out.

The input pipeline gives one stream of global batches. Each replica takes its own block of rows, so
N devices see the very batches one device would. Rows of padding fill a batch up to a multiple of
the replicas (as T2T does in evaluation); they weigh nothing, and no device is left without a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from keras_transformer.errors import UserError


def strategy(logical_cpus: int = 0, gpus: int | None = None) -> tf.distribute.Strategy:
    """The strategy for the devices of this machine.

    Args:
        logical_cpus: cut the CPU into that many devices, to try out several replicas; 0: don't.
        gpus: use at most that many GPUs; None: all there are.

    Returns:
        `MirroredStrategy`, over one device too: measured, it costs nothing there.

    Raises:
        UserError: more GPUs are asked for than there are, or devices are asked for after
            TensorFlow has started.
    """
    if logical_cpus > 1:
        _cut_cpu(logical_cpus)
        return _mirrored_cpus(logical_cpus)
    found = tf.config.list_physical_devices("GPU")
    if gpus is not None and gpus > len(found):
        raise UserError(f"{gpus} GPUs are asked for, but TensorFlow finds {len(found)} here")
    used = found if gpus is None else found[:gpus]
    try:
        if used != found:
            tf.config.set_visible_devices(used, "GPU")
        for device in used:
            # Otherwise one program takes all the memory, and a decoder beside it finds none.
            tf.config.experimental.set_memory_growth(device, True)
    except RuntimeError as error:
        raise UserError(f"devices must be chosen before TensorFlow is used: {error}") from None
    if not used:
        return _mirrored_cpus(1)
    return tf.distribute.MirroredStrategy([f"/GPU:{number}" for number in range(len(used))])


def _mirrored_cpus(number: int) -> tf.distribute.Strategy:
    # NCCL, the default, is for GPUs only.
    return tf.distribute.MirroredStrategy(
        [f"/CPU:{each}" for each in range(number)],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )


def _cut_cpu(number: int) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    try:
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(number)]
        )
    except RuntimeError:
        if len(tf.config.list_logical_devices("CPU")) < number:
            raise UserError(
                f"{number} logical CPUs are asked for, but TensorFlow has started with fewer"
            ) from None


def rows_of_replica(
    batch: Mapping[str, tf.Tensor], replica: Any, num_replicas: int
) -> dict[str, tf.Tensor]:
    """The rows of a global batch that one replica takes; never none.

    Args:
        batch: name → [B, …] with one B.
        replica: number of the replica, from 0.
        num_replicas: how many there are.

    Returns:
        name → [ceil(B / num_replicas), …], filled up with rows of zeros.
    """
    if num_replicas == 1:
        return dict(batch)
    shares = {}
    for name, tensor in batch.items():
        share = tf.maximum(-(-tf.shape(tensor)[0] // num_replicas), 1)
        missing = share * num_replicas - tf.shape(tensor)[0]
        padded = tf.pad(tensor, [[0, missing]] + [[0, 0]] * (tensor.shape.rank - 1))
        shares[name] = padded[replica * share : (replica + 1) * share]
    return shares


def first_replica(strategy: tf.distribute.Strategy, value: Any) -> Any:
    """The copy of the first device of what every device holds."""
    return strategy.experimental_local_results(value)[0]
