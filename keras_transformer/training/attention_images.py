"""Attention weights as small pictures for TensorBoard, without a drawing library.

One sentence pair, the last layer of each kind of attention. A row is a position that looks, a
column one that is looked at. The heads are dealt to red, green and blue, and each colour shows its
strongest head, brightened by a power of 0.2 so that weak weights are seen too (as T2T's pictures).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

BRIGHTENING = 0.2
# Longest side of a picture in pixels, and largest square for one weight.
MOST_PIXELS = 512
LARGEST_SQUARE = 16
# More positions than that are cut off.
MOST_POSITIONS = 128


def attention_images(model: Any, batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Pictures of the last layers while the model reads the first sentence pair of a batch.

    Args:
        model: a `Transformer`.
        batch: name → int32 [B, positions], padded with 0.

    Returns:
        Name of the attention, `decoder/layer_5/cross_attention` for instance → uint8
        [height, width, 3]. The decoder is made to write the target (teacher forcing).
    """
    _, weights = model(first_pair(batch), training=False, return_attention=True)
    last: dict[str, tuple[int, str]] = {}
    for name in weights:
        layer = re.search(r"layer_(\d+)", name)
        kind = re.sub(r"layer_\d+", "layer", name)
        if layer and int(layer.group(1)) >= last.get(kind, (0, ""))[0]:
            last[kind] = (int(layer.group(1)), name)
    return {name: picture(np.asarray(weights[name])[0]) for _, name in last.values()}


def first_pair(batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The first row of a batch without the padding at the end of each side."""
    row = {name: np.asarray(values)[:1] for name, values in batch.items()}
    ends = {
        side: max(1, int(np.max(np.nonzero(row[side][0])[0], initial=0)) + 1)
        for side in ("inputs", "targets")
    }
    return {name: values[:, : ends[name.partition("_")[0]]] for name, values in row.items()}


def picture(weights: np.ndarray) -> np.ndarray:
    """The weights of one layer in colour.

    Args:
        weights: float [H, T, S], each row sums to 1.

    Returns:
        uint8 [height, width, 3], a square of equal pixels for each weight.
    """
    weights = weights[:, :MOST_POSITIONS, :MOST_POSITIONS]
    colours = np.zeros([*weights.shape[1:], 3], np.float32)
    for colour in range(min(3, len(weights))):
        colours[..., colour] = weights[colour::3].max(axis=0)
    pixels = np.rint(255.0 * np.clip(colours, 0.0, 1.0) ** BRIGHTENING).astype(np.uint8)
    square = min(LARGEST_SQUARE, max(1, MOST_PIXELS // max(pixels.shape[:2])))
    return pixels.repeat(square, axis=0).repeat(square, axis=1)
