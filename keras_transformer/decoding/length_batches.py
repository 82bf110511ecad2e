"""Sentences into batches: those of like length together, answers back in the order asked.

Sentences come in windows, so that a stream of any length needs the memory of one window.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True)
class Sentence:
    """One sentence on its way into the model.

    Attributes:
        place: its index in the window.
        number: its index in the whole input, from 0.
        text: as it was given.
        ids: int32 subtokens, end of sentence included.
        prefix: subtokens the output must begin with.
    """

    place: int
    number: int
    text: str
    ids: tuple[int, ...]
    prefix: tuple[int, ...] = ()


def windows(items: Iterable[T], size: int | None) -> Iterator[list[T]]:
    """Lists of `size` items, the last one shorter; one list of all if size is None."""
    iterator = iter(items)
    while window := list(itertools.islice(iterator, size)):
        yield window


def in_batches(
    sentences: Sequence[Sentence], batch_size: int, length_limit: str, long_line: int
) -> list[list[Sentence]]:
    """The batches under a length limit; sentences above `long_line` (0: none) are alone."""
    if length_limit == "batch":
        return as_tensor2tensor(sentences, batch_size)
    return by_length(sentences, batch_size, long_line or 1 << 30)


def by_length(
    sentences: Sequence[Sentence], batch_size: int, alone_above: int
) -> list[list[Sentence]]:
    """Batches of like length, longest first, so that a lack of memory shows at once.

    Args:
        sentences: in any order.
        batch_size: sentences of a batch.
        alone_above: a longer sentence (subtokens) is a batch of its own, so that its neighbours
            are not padded to its length.
    """
    ordered = sorted(sentences, key=lambda sentence: -len(sentence.ids))
    long = [[sentence] for sentence in ordered if len(sentence.ids) > alone_above]
    rest = ordered[len(long) :]
    return long + [rest[i : i + batch_size] for i in range(0, len(rest), batch_size)]


def as_tensor2tensor(sentences: Sequence[Sentence], batch_size: int) -> list[list[Sentence]]:
    """T2T's batches of a whole file: by number of words, descending; equal ones in input order.

    Under the length limit `batch` a sentence's limit depends on its neighbours, so that these
    batches must be T2T's own.
    """
    ordered = sorted(sentences, key=lambda sentence: -len(sentence.text.split()))
    return [ordered[i : i + batch_size] for i in range(0, len(ordered), batch_size)]


def pad(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """int32 [B, longest], 0 behind the end of each row."""
    padded = np.zeros((len(rows), max(map(len, rows), default=0)), np.int32)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    return padded
