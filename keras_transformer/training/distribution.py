"""Devices: which strategy, and how a global batch is shared out.

The input pipeline gives one stream of global batches. Each replica takes its own block of rows, so
N devices see the very batches one device would, whether they are in one process or in several:
then the pipeline of each process gives the block of its devices alone (`data/pipeline.py`). Rows
of padding fill a batch up to a multiple of the replicas (as T2T does in evaluation); they weigh
nothing, and no device is left without a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from keras_transformer.errors import UserError
from keras_transformer.training.cluster import Cluster


def strategy(
    logical_cpus: int = 0, gpus: int | None = None, cluster: Cluster | None = None
) -> tf.distribute.Strategy:
    """The strategy for the devices of this machine, and of all machines of a cluster.

    Args:
        logical_cpus: cut the CPU into that many devices, to try out several replicas; 0: don't.
        gpus: use at most that many GPUs; None: all there are.
        cluster: the processes to train with, as `TF_CONFIG` names them. The call comes back when
            all of them have made it.

    Returns:
        `MirroredStrategy`, over one device too: measured, it costs nothing there. With a cluster
        `MultiWorkerMirroredStrategy` over the GPUs of all its processes or, without GPUs, one
        CPU of each.

    Raises:
        UserError: more GPUs are asked for than there are, or devices are asked for after
            TensorFlow has started.
    """
    if logical_cpus > 1:
        cut_cpu(logical_cpus)
        return _mirrored_cpus(logical_cpus)
    number = _use_gpus(gpus)
    if cluster is not None:
        return _multi_worker()
    if not number:
        return _mirrored_cpus(1)
    return tf.distribute.MirroredStrategy([f"/GPU:{each}" for each in range(number)])


def _multi_worker() -> tf.distribute.Strategy:
    try:
        # It reads the variable TF_CONFIG, as the cluster was read.
        return tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:
        if "program startup" not in str(error):
            raise
        raise UserError(
            "several workers must be connected before TensorFlow is used, and this process has"
            " prepared the run with it: the run directory is ready now, so start all again"
        ) from None


def tpu_strategy(name: str) -> tf.distribute.Strategy:
    """`TPUStrategy` over the TPU of that name or address; `local` on a TPU machine. Untested.

    Raises:
        UserError: it cannot be reached.
    """
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (ValueError, RuntimeError, OSError, tf.errors.OpError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"--tpu={name} cannot be used: {reason}") from None
    return tf.distribute.TPUStrategy(resolver)


def _use_gpus(wanted: int | None) -> int:
    """Shows TensorFlow as many GPUs as are wanted; how many these are."""
    found = tf.config.list_physical_devices("GPU")
    if wanted is not None and wanted > len(found):
        raise UserError(f"{wanted} GPUs are asked for, but TensorFlow finds {len(found)} here")
    used = found if wanted is None else found[:wanted]
    try:
        if used != found:
            tf.config.set_visible_devices(used, "GPU")
        for device in used:
            # Otherwise one program takes all the memory, and a decoder beside it finds none.
            tf.config.experimental.set_memory_growth(device, True)
    except RuntimeError as error:
        raise UserError(f"devices must be chosen before TensorFlow is used: {error}") from None
    return len(used)


def _mirrored_cpus(number: int) -> tf.distribute.Strategy:
    # NCCL, the default, is for GPUs only.
    return tf.distribute.MirroredStrategy(
        [f"/CPU:{each}" for each in range(number)],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )


def cut_cpu(number: int) -> None:
    """Makes so many devices of the CPU, to try out what several do.

    Raises:
        UserError: TensorFlow has started with fewer.
    """
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
    """The rows of a batch that one replica takes; never none.

    Args:
        batch: name → [B, …] with one B.
        replica: number of the replica among those of this process, from 0.
        num_replicas: how many there are in this process.

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
