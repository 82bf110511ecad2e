"""The four layer types of the paper's Table 1 as contestants, and what is expected of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.harness import Contestant, Measure
from benchmarks.settings import Settings

LAYERS = ("self-attention", "recurrent", "convolutional", "restricted")
# What attention does besides attending, which Table 1 leaves out.
PROJECTIONS = "projections"

Size = tuple[int, int]

HEAD_WIDTH = 64  # d_k of the paper's base
KERNEL = 3
REACH = 64
GATES = 4  # of an LSTM
PASSES = 3  # forward, and two products as large backward
FLOAT32 = 4


def contestants(sizes: Sequence[Size], what: str) -> list[Contestant]:
    """One process for each layer type and one for the projections of attention.

    Args:
        sizes: (n, d).
        what: `time` or `memory`.
    """
    job = {
        **{"sizes": sizes, "what": what, "warm_up_rounds": 0},  # the worker warms up by itself
        **{"head_width": HEAD_WIDTH, "kernel": KERNEL, "reach": REACH},
    }
    return [
        Contestant(layer, "layer_types.py", {**job, "layer": layer})
        for layer in (*LAYERS, PROJECTIONS)
    ]


def measure(settings: Settings) -> Measure:
    """Rates of all layer types at some sizes; `benchmarks.table1` measures many more."""
    title = f"n x d; LSTM, kernel {KERNEL}, r = {REACH}, heads of {HEAD_WIDTH}; forward, backward"
    sizes = settings.layer_sizes
    return Measure("layers", title, "positions", contestants(sizes, "time"))


def operations(layer: str, n: int, d: int) -> float:
    """Counted floating-point operations of the products, forward and backward."""
    projections = 4 * n * d * d
    multiplications = {
        "self-attention": 2 * n * n * d + projections,
        "recurrent": 2 * GATES * n * d * d,
        "convolutional": KERNEL * n * d * d,
        "restricted": 2 * n * _window(n) * d + projections,
        PROJECTIONS: projections,
    }[layer]
    return 2.0 * PASSES * multiplications


def kept_bytes(layer: str, n: int, d: int) -> int:
    """Counted bytes of what the backward pass needs of the forward pass; no workspace."""
    heads = max(1, d // HEAD_WIDTH)
    numbers = {
        # Input, queries, keys, values, context, output; the weights of all heads.
        "self-attention": 6 * n * d + heads * n * n,
        # Input, four gates, cell, its tanh, output.
        "recurrent": (4 + GATES) * n * d,
        "convolutional": 2 * n * d,
        "restricted": 4 * n * d + 2 * n * d * _window(n) // _block(n) + heads * n * _window(n),
        PROJECTIONS: 5 * n * d,
    }[layer]
    return FLOAT32 * numbers


def _block(n: int) -> int:
    from keras_transformer.layers.neighbourhood import SHORTEST_BLOCK

    return min(n, max(REACH, SHORTEST_BLOCK))


def _window(n: int) -> int:
    """Positions that a block's queries are multiplied with."""
    return _block(n) + (2 * REACH if n > _block(n) else 0)


def table1() -> dict[str, dict[str, Any]]:
    """What the paper prints, with the exponents of n and d in the complexity of a layer."""
    return {
        "self-attention": {
            "complexity": "O(n² d)",
            "n": 2,
            "d": 1,
            "steps": "O(1)",
            "path": "O(1)",
        },
        "recurrent": {"complexity": "O(n d²)", "n": 1, "d": 2, "steps": "O(n)", "path": "O(n)"},
        "convolutional": {
            "complexity": "O(k n d²)",
            "n": 1,
            "d": 2,
            "steps": "O(1)",
            "path": "O(log_k n)",
        },
        "restricted": {"complexity": "O(r n d)", "n": 1, "d": 1, "steps": "O(1)", "path": "O(n/r)"},
    }
