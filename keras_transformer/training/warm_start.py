"""A new run that begins with the weights of another one, its vocabulary changed or not.

Layers, norms and positions must fit and are copied. In the tables (embeddings and softmax) each
entry of the new vocabulary takes the row its string had in the old one, whatever its old number;
entries that were not there keep the values they were initialised with. Sharing may differ: a
separate table takes its rows from a shared one and the other way round.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.run_dir import RunDir
from keras_transformer.training import checkpoints

# Table of the new model → (table of the old one, side of the vocabulary that numbers its rows).
_FROM = {
    "shared_embedding/weights": (
        ("shared_embedding/weights", "targets"),
        ("targets_embedding/weights", "targets"),
        ("inputs_embedding/weights", "inputs"),
    ),
    "inputs_embedding/weights": (
        ("inputs_embedding/weights", "inputs"),
        ("shared_embedding/weights", "inputs"),
    ),
    "targets_embedding/weights": (
        ("targets_embedding/weights", "targets"),
        ("shared_embedding/weights", "targets"),
    ),
    "softmax/weights": (
        ("softmax/weights", "targets"),
        ("shared_embedding/weights", "targets"),
    ),
}
_SIDE = {"inputs_embedding/weights": "inputs"}


def begin_with(
    model: Any,
    encoders: Mapping[str, Any],
    origin: str | os.PathLike[str],
    data_dir: str | os.PathLike[str] | None = None,
) -> list[str]:
    """Fills a new model from a run of ours or of Tensor2Tensor.

    Args:
        model: has `named_weights()`.
        encoders: side → text encoder of the new run.
        origin: a run directory (its newest checkpoint), or a checkpoint in one.
        data_dir: where the old vocabulary may lie, if not where its run says.

    Returns:
        What was done, a line each.

    Raises:
        UserError: there is no such checkpoint or no vocabulary beside it, or a weight that is no
            table does not fit.
    """
    folder = Path(origin) if Path(origin).is_dir() else Path(origin).parent
    run = RunDir.open(folder)
    if run.is_t2t:
        reader = registry.t2t_compat().named_weights(origin)
    else:
        prefix = checkpoints.latest(origin) if Path(origin).is_dir() else os.fspath(origin)
        if prefix is None:
            raise UserError(f"--init_from={origin} holds no checkpoint")
        reader = checkpoints.read(prefix)
    notes = [f"beginning with the weights of {reader.prefix}, at step 0"]
    old = run.encoders(data_dir)
    weights = model.named_weights()
    checkpoints.load_variables(
        {name: variable for name, variable in weights.items() if name not in _FROM},
        reader,
        ignore=(checkpoints.OPTIMIZER, *_FROM),
    )
    for name in _FROM:
        if name in weights:
            notes += _fill_table(name, weights[name], encoders, old, reader)
    return notes


def _fill_table(
    name: str,
    variable: Any,
    encoders: Mapping[str, Any],
    old_encoders: Mapping[str, Any],
    reader: Any,
) -> list[str]:
    entries = entries_of(encoders[_SIDE.get(name, "targets")])
    table = np.array(variable.numpy())
    kept = np.zeros(len(entries), bool)
    for old_name, side in _FROM[name]:
        if old_name not in reader:
            continue
        old_entries = entries_of(old_encoders[side])
        if reader.shape(old_name)[1] != table.shape[1]:
            raise UserError(
                f"{reader.prefix}: {old_name} is {reader.shape(old_name)[1]} wide, the model is"
                f" {table.shape[1]} wide; give the hparams set of that run"
            )
        new_rows, old_rows = matching_rows(entries, old_entries)
        wanted = ~kept[new_rows]
        new_rows, old_rows = new_rows[wanted], old_rows[wanted]
        table[new_rows] = reader.tensor(old_name)[old_rows]
        kept[new_rows] = True
    variable.assign(table)
    if kept.all():
        return []
    return [
        f"{name}: rows of {int(kept.sum()):,} entries kept, of {int((~kept).sum()):,} entries that"
        f" {Path(reader.prefix).parent}'s vocabulary has not, initialised"
    ]


def entries_of(encoder: Any) -> Sequence[Any]:
    """The entries of a vocabulary in the order of their ids.

    Encoders without a file (bytes, numbers) have none; their ids mean the same in every run.
    """
    for name in ("subtokens", "tokens"):
        if hasattr(encoder, name):
            return list(getattr(encoder, name))
    return range(encoder.vocab_size)


def matching_rows(
    entries: Sequence[Any], old_entries: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the entries that both vocabularies hold, in the new and in the old one.

    Padding and the end of the sentence, ids 0 and 1, match whatever they are called. An entry that
    stands twice in the old vocabulary means its last place, as its encoder reads it.
    """
    numbers = {entry: number for number, entry in enumerate(old_entries)}
    pairs = [(number, number) for number in range(min(2, len(entries), len(old_entries)))]
    pairs += [
        (number, numbers[entry])
        for number, entry in enumerate(entries)
        if number > 1 and numbers.get(entry, 0) > 1
    ]
    new, old = np.array(pairs, np.int64).reshape(-1, 2).T
    return new, old
