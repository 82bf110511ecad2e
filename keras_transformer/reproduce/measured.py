"""What a row's training cost, read from the log of its run directory."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer.errors import UserError
from keras_transformer.training import train_log


def training(run_dir: Path) -> dict[str, Any]:
    """Speed and size of the updates.

    Returns:
        seconds_per_step: median over the reports of the log, so that an update that waited for
            something else does not count; evaluations and checkpoints are left out. None if the
            run was too short for a report.
        source_tokens_per_update, target_tokens_per_update: means; None likewise.
        parameters, replicas, simulate_replicas, precision: as the run began.

    Raises:
        UserError: the log has gone.
    """
    starts = list(train_log.events(run_dir, "start"))
    if not starts:
        raise UserError(
            f"{run_dir / train_log.LOG_FILE} does not say how the run began: restore it from a"
            f" copy, or delete {run_dir} to do the row again"
        )
    names = ("parameters", "replicas", "simulate_replicas", "precision")
    found = {name: starts[-1][name] for name in names}
    reports = list(train_log.events(run_dir, "train"))
    seconds = [1.0 / report["steps_per_second"] for report in reports]
    found["seconds_per_step"] = statistics.median(seconds) if seconds else None
    for name in ("source_tokens_per_update", "target_tokens_per_update"):
        values = [report[name] for report in reports]
        found[name] = statistics.fmean(values) if values else None
    return found


def device_names() -> list[str]:
    """The GPUs TensorFlow sees, or the processor."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        details = (tf.config.experimental.get_device_details(gpu) for gpu in gpus)
        return [str(found.get("device_name", "GPU")) for found in details]
    return [_processor()]


def _processor() -> str:
    import os
    import platform

    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        name = models[0] if models else name
    return f"{name}, {os.cpu_count()} cores"
