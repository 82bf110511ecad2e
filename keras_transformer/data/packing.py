"""Several examples in one row, as T2T's `_packed` problems write them.

First fit over a window of open rows (T2T `generator_utils.pack_examples`): an example goes into
the first open row where both its sides still fit; if none takes it and the window is full, the
oldest row is written. A row says which example each position belongs to (`_segmentation`, from 1)
and the place inside it (`_position`, from 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

WINDOW = 10  # open rows (T2T `packed_examples` queue_size)
LENGTH = 256  # subtokens in a row of T2T's packed problems
SIDES = ("inputs", "targets")

T = TypeVar("T")


def first_fit(
    examples: Iterable[tuple[tuple[int, int], T]], length: int, spacing: int = 0
) -> Iterator[list[T]]:
    """Deals examples to rows of at most `length` subtokens a side.

    An example longer than `length` becomes a row of its own, over-long as in T2T; `max_length`
    drops it when the data is read.

    Args:
        examples: (source, target) lengths in subtokens, and the example.
        length: subtokens in a row.
        spacing: padding between two examples.

    Yields:
        The examples of a row, in their order.
    """
    open_rows: list[tuple[list[int], list[T]]] = []
    for lengths, example in examples:
        for filled, row in open_rows:
            if all(
                have + spacing + more <= length for have, more in zip(filled, lengths, strict=True)
            ):
                for side, more in enumerate(lengths):
                    filled[side] += spacing + more
                row.append(example)
                break
        else:
            if len(open_rows) == WINDOW:
                yield open_rows.pop(0)[1]
            open_rows.append((list(lengths), [example]))
    for _, row in open_rows:
        yield row


def pack(
    examples: Iterable[Mapping[str, list[int]]], length: int, spacing: int = 0
) -> Iterator[dict[str, list[int]]]:
    """Packs examples into rows of at most `length` subtokens a side; see `first_fit`.

    Args:
        examples: dicts with the id lists `inputs` and `targets`, EOS included.
        length: subtokens in a row.
        spacing: padding ids between two examples.
    """
    measured = (((len(each["inputs"]), len(each["targets"])), each) for each in examples)
    for row in first_fit(measured, length, spacing):
        features: dict[str, list[int]] = {}
        for side in SIDES:
            ids: list[int] = []
            segments: list[int] = []
            positions: list[int] = []
            for number, example in enumerate(row, start=1):
                gap = [0] * spacing if ids else []
                ids += gap + list(example[side])
                segments += gap + [number] * len(example[side])
                positions += gap + list(range(len(example[side])))
            features |= {
                side: ids,
                f"{side}_segmentation": segments,
                f"{side}_position": positions,
            }
        yield features
