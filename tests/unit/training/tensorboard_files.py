"""TensorBoard's files read as anybody's program reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf


def values(folder: Path) -> dict[tuple[str, int], Any]:
    """(tag, step) → value, of all the event files of a folder."""
    found = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                found[value.tag, event.step] = tf.make_ndarray(value.tensor)
    return found
