"""Which row of the target-space table a checkpoint was trained with.

Until 1.5.1 T2T's translation problems named their target language (8 for German), later releases
left row 0; a parser had 15. With the wrong row an untrained vector is added to every position of
the source. Only the row in use ever receives a gradient, so the checkpoint itself can tell.
"""

from __future__ import annotations

import math

import numpy as np

from keras_transformer.t2t_compat.checkpoint_files import CheckpointReader
from keras_transformer.t2t_compat.layout import Layout

# T2T's language ids, for messages.
SPACE_NAMES = {
    0: "generic", 2: "English characters", 3: "English tokens", 4: "English BPE",
    5: "French characters", 6: "French tokens", 7: "German characters", 8: "German tokens",
    9: "German BPE", 14: "parse characters", 15: "parse tokens", 17: "Icelandic characters",
    18: "Icelandic tokens", 19: "Icelandic parse tokens",
}  # fmt: skip


def trained_target_spaces(reader: CheckpointReader, layout: Layout) -> list[int] | None:
    """Rows of the target-space table that training has moved.

    Judged by Adam's second moment where the checkpoint has it (a row never used has none), else by
    values outside the range of the initialiser.

    Returns:
        The rows' numbers (usually one); None if there is no table or nothing can be told.
    """
    if not layout.target_space_rows:
        return None
    name = layout.body("target_space_embedding/kernel")
    slot = f"training/{name}/Adam_1"
    if slot in reader:
        rows = np.flatnonzero(np.any(reader.tensor(slot) != 0, axis=1)).tolist()
        return rows or None
    table = reader.tensor(name)
    limit = math.sqrt(3.0 / ((table.shape[0] + table.shape[1]) / 2.0))
    rows = np.flatnonzero(np.any(np.abs(table) > limit * (1 + 1e-5), axis=1)).tolist()
    return rows if len(rows) == 1 else None
