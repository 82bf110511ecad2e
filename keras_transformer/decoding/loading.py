"""A run directory's models, one copy for each device, and its text encoders."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.run_dir import RunDir

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadedRun:
    """What was loaded.

    Attributes:
        run: the opened run directory.
        encoders: side → text encoder.
        checkpoints: prefixes; several make an ensemble.
        models: for each device, a model for each checkpoint.
        devices: where `models` are; [None] leaves the place to TensorFlow.
    """

    run: RunDir
    encoders: dict[str, Any]
    checkpoints: list[str]
    models: list[list[Any]]
    devices: list[str | None]


def load_models(
    run_dir: str | os.PathLike[str],
    checkpoint_path: str | Sequence[str] | None = None,
    usr_dir: str | None = None,
    vocabularies: Mapping[str, Any] | None = None,
    t2t_options: Mapping[str, Any] | None = None,
) -> LoadedRun:
    """Opens a run directory and loads its models on every GPU, or on the one place there is.

    Without a GPU, on every logical CPU, if a program has cut the CPU into several.

    Args:
        run_dir: ours or Tensor2Tensor's.
        checkpoint_path: prefixes (a list, or commas between); None for the latest.
        usr_dir: see `RunDir.open`.
        vocabularies: where to look for them, see `RunDir.encoders`.
        t2t_options: what else a Tensor2Tensor run does not say itself, see `RunDir.open`.

    Raises:
        UserError: a part is missing, damaged, or does not fit the others.
    """
    places = dict(vocabularies or {})
    run = RunDir.open(run_dir, usr_dir=usr_dir, **{**places, **(t2t_options or {})})
    prefixes = find_checkpoints(run.path, checkpoint_path)
    encoders = run.encoders(**places)
    devices = _devices()
    models = []
    for device in devices:
        with tf.device(device) if device else nullcontext():
            models.append([_load_model(run, encoders, prefix) for prefix in prefixes])
    return LoadedRun(run, encoders, prefixes, models, devices)


def _devices() -> list[str | None]:
    for gpu in tf.config.list_physical_devices("GPU"):
        # Otherwise this program takes all of its memory, and a training beside it runs out.
        with suppress(RuntimeError):  # TensorFlow has started already
            tf.config.experimental.set_memory_growth(gpu, True)
    found = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    if len(found) == 1:
        return [None]
    logger.info("decoding on %d devices", len(found))
    return [device.name for device in found]


def find_checkpoints(
    run_dir: str | os.PathLike[str], checkpoint_path: str | Sequence[str] | None
) -> list[str]:
    """Prefixes of the checkpoints that are meant.

    Args:
        run_dir: where to look for the latest if none is given.
        checkpoint_path: prefixes, or folders of which the latest is taken; a list, or one string
            with commas between.

    Raises:
        UserError: there is no such checkpoint, or none at all.
    """
    from keras_transformer.training import checkpoints

    if isinstance(checkpoint_path, str):
        checkpoint_path = [part.strip() for part in checkpoint_path.split(",") if part.strip()]
    found = []
    for given in checkpoint_path or [str(run_dir)]:
        prefix: str | None = given.removesuffix(".index")
        if Path(given).is_dir():
            prefix = checkpoints.latest(given)
            if prefix is None and checkpoints.traces(given):
                raise UserError(
                    f"every checkpoint in {given} is damaged or cut off: restore one from a copy"
                )
            if prefix is None:
                raise UserError(
                    f"{given} holds no checkpoint: train first, or name one with --checkpoint_path"
                )
        elif not Path(f"{prefix}.index").is_file():
            raise UserError(f"{given}: there is no such checkpoint (no file {prefix}.index)")
        found.append(str(prefix))
    return found


def _load_model(run: RunDir, encoders: Mapping[str, Any], prefix: str) -> Any:
    sizes = {side: encoders[side].vocab_size for side in ("inputs", "targets")}
    if run.is_t2t:
        return registry.t2t_compat().load_model(
            prefix, run.hparams, target_space_id=run.target_space_id, vocab_sizes=sizes
        )
    from keras_transformer.model.transformer import Transformer, weights_to_be_loaded
    from keras_transformer.training import checkpoints

    with weights_to_be_loaded():
        model = Transformer.from_hparams(
            run.hparams,
            source_vocab_size=sizes["inputs"],
            target_vocab_size=sizes["targets"],
            target_space_id=run.target_space_id,
        )
    checkpoints.load_weights(model, prefix)
    return model
