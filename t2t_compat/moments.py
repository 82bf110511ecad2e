"""Adam's state in a T2T checkpoint, under the names this project's optimizer gives it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from keras_transformer.t2t_compat.checkpoint_files import CheckpointReader
from keras_transformer.t2t_compat.weights import Source
from keras_transformer.training.checkpoints import OPTIMIZER

# Optimizer of the settings → our slot → T2T's.
SLOTS = {
    "adam": {"m": "Adam", "v": "Adam_1"},
    "true_adam": {"m": "Adam", "v": "Adam_1"},
    "multistep_adam": {"m": "Adam", "v": "Adam_1", "accumulated": "Adam_2"},
}
# Optimizer of the settings → our scalar → T2T's variable.
SCALARS = {
    "adam": {"beta1_power": "beta1_power", "beta2_power": "beta2_power"},
    "true_adam": {"beta1_power": "beta1_power", "beta2_power": "beta2_power"},
    "multistep_adam": {
        "beta1_power": "beta1_power",
        "beta2_power": "beta2_power",
        "micro_step": "iter",
    },
}


def read_moments(
    reader: CheckpointReader,
    sources: Mapping[str, Source],
    weights: Iterable[str],
    optimizer: str,
) -> dict[str, np.ndarray] | None:
    """The optimizer's tensors, named as in our checkpoints.

    Args:
        sources: model weight → its place in the checkpoint.
        weights: the model's weights.
        optimizer: the settings' optimizer.

    Returns:
        `optimizer/m/<weight>`, `optimizer/v/<weight>`, `optimizer/beta1_power` …; None if the
        checkpoint does not hold all of them (it was written for decoding, or by another rule).
    """
    if optimizer not in SLOTS:
        return None
    used = {name: sources[name] for name in weights}
    slots = {
        (ours, name): (source, theirs)
        for ours, theirs in SLOTS[optimizer].items()
        for name, source in used.items()
    }
    scalars = {ours: f"training/{theirs}" for ours, theirs in SCALARS[optimizer].items()}
    wanted = [n for source, slot in slots.values() for n in source.slot_names(slot)]
    if any(name not in reader for name in [*wanted, *scalars.values()]):
        return None
    tensors = {
        f"{OPTIMIZER}{ours}/{name}": source.read(reader.tensor, slot)
        for (ours, name), (source, slot) in slots.items()
    }
    for ours, theirs in scalars.items():
        value = np.asarray(reader.tensor(theirs))
        tensors[OPTIMIZER + ours] = value.astype(np.int64 if ours == "micro_step" else np.float32)
    return tensors
