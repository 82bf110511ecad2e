"""Which matrix products a Transformer makes with its weights, by its settings.

The products within attention (of queries with keys, of weights with values; 3 % of a training step
of the base model) are left out: what is given as a share of these products is a little too low
rather than too high. Only real positions count, padding is work that need not be done.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.harness import Contestant

if TYPE_CHECKING:
    from keras_transformer.config import HParams

LARGE = 1e8  # operations of a product beside which the costs of starting it are nothing
PASSES = 4  # over which the products of one decoding step are measured


def contestant(dtype: str, figures: dict[str, Any]) -> Contestant:
    """Does the products alone.

    Args:
        dtype: of all factors.
        figures: figure → {"units": done by these products, "products": [...]}.
    """
    return Contestant(name_of(dtype), "products.py", {"dtype": dtype, "figures": figures})


def name_of(dtype: str) -> str:
    return f"matrix products {dtype}"


def kernels(hp: HParams, vocab_size: int) -> Iterator[tuple[str, int, int, int]]:
    """(side, inputs, outputs, how many of these); side: rows are source or target positions."""
    width, key, value, filters = hp.hidden_size, hp.key_width, hp.value_width, hp.filter_size
    encoder, decoder = hp.encoder_layers, hp.decoder_layers
    # Attention: queries, keys, values, output; that of the decoder to the source projects keys
    # and values of source positions.
    yield "source", width, key, 2 * encoder + decoder
    yield "source", width, value, encoder + decoder
    yield "source", value, width, encoder
    yield "target", width, key, 3 * decoder
    yield "target", width, value, decoder
    yield "target", value, width, 2 * decoder
    for side, layers in (("source", encoder), ("target", decoder)):
        yield side, width, filters, layers
        yield side, filters, width, layers
    yield "target", width, vocab_size, 1


def of_training_step(
    hp: HParams, vocab_size: int, source_positions: int, target_positions: int
) -> list[dict[str, Any]]:
    """Forward products and both gradients; one large product stands for all of its shape."""
    rows = {"source": source_positions, "target": target_positions}
    counts: dict[tuple[int, int, int], int] = {}
    for side, inputs, outputs, number in kernels(hp, vocab_size):
        shape = (rows[side], inputs, outputs)
        counts[shape] = counts.get(shape, 0) + number
    products = []
    for shape, number in counts.items():
        matrices = 1 if 2 * math.prod(shape) >= LARGE else number
        products.append(
            _product(*shape, matrices, times=number // matrices, gradients=True, passes=1)
        )
    return products


def of_decoding(
    hp: HParams, vocab_size: int, sentences: int, beam_size: int, length: int
) -> list[dict[str, Any]]:
    """The encoder's products for all positions at once, the decoder's step by step.

    All matrices are there, since reading them takes most of the time of a small batch.
    """
    products = []
    for side, inputs, outputs, number in kernels(hp, vocab_size):
        is_source = side == "source"
        rows = sentences * (length if is_source else beam_size)
        times, passes = (1, 1) if is_source else (length, PASSES)
        products.append(
            _product(rows, inputs, outputs, number, times, gradients=False, passes=passes)
        )
    return products


def operations(products: Sequence[dict[str, Any]]) -> float:
    """Floating-point operations, a multiplication and an addition counting as two."""
    return sum(
        2.0
        * each["rows"]
        * each["inputs"]
        * each["outputs"]
        * each["matrices"]
        * each["times"]
        * (3 if each["gradients"] else 1)
        for each in products
    )


def _product(
    rows: int, inputs: int, outputs: int, matrices: int, times: int, gradients: bool, passes: int
) -> dict[str, Any]:
    return {
        "rows": rows,
        "inputs": inputs,
        "outputs": outputs,
        "matrices": matrices,
        "times": times,
        "gradients": gradients,
        "passes": passes,
    }
