"""Several examples in one row, as T2T's `_packed` problems write them.

First fit over a window of open rows (T2T `generator_utils.pack_examples`): an example goes into
the first open row where both its sides still fit; if none takes it and the window is full, the
oldest row is written. A row says which example each position belongs to (`_segmentation`, from 1)
and the place inside it (`_position`, from 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

WINDOW = 10  # open rows (T2T `packed_examples` queue_size)
SIDES = ("inputs", "targets")


class _Row:
    def __init__(self, length: int, spacing: int):
        self._length = length
        self._spacing = spacing
        self._examples = 0
        self.features: dict[str, list[int]] = {}
        for side in SIDES:
            self.features |= {side: [], f"{side}_segmentation": [], f"{side}_position": []}

    def takes(self, example: Mapping[str, list[int]]) -> bool:
        return all(
            not self.features[side]
            or len(self.features[side]) + self._spacing + len(example[side]) <= self._length
            for side in SIDES
        )

    def add(self, example: Mapping[str, list[int]]) -> None:
        gap = [0] * self._spacing if self._examples else []
        self._examples += 1
        for side in SIDES:
            ids = list(example[side])
            self.features[side] += gap + ids
            self.features[f"{side}_segmentation"] += gap + [self._examples] * len(ids)
            self.features[f"{side}_position"] += gap + list(range(len(ids)))


def pack(
    examples: Iterable[Mapping[str, list[int]]], length: int, spacing: int = 0
) -> Iterator[dict[str, list[int]]]:
    """Packs examples into rows of at most `length` subtokens a side.

    An example longer than `length` becomes a row of its own, over-long as in T2T; `max_length`
    drops it when the data is read.

    Args:
        examples: dicts with the id lists `inputs` and `targets`, EOS included.
        length: subtokens in a row.
        spacing: padding ids between two examples.
    """
    open_rows: list[_Row] = []
    for example in examples:
        row = next((row for row in open_rows if row.takes(example)), None)
        if row is None:
            if len(open_rows) == WINDOW:
                yield open_rows.pop(0).features
            row = _Row(length, spacing)
            open_rows.append(row)
        row.add(example)
    for row in open_rows:
        yield row.features
