"""A batch that does not fit into memory, as two smaller ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import tensorflow as tf

from keras_transformer.errors import UserError

logger = logging.getLogger(__name__)

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def in_halves(
    batch: Sequence[Item],
    work: Callable[[Sequence[Item]], Iterable[Answer]],
    too_large: Callable[[Item], str],
) -> list[Answer]:
    """`work(batch)`, or where memory does not suffice the answers of its halves, and so on.

    Args:
        batch: at least one item.
        work: gives an answer for each item, which does not depend on the others.
        too_large: the message for an item that does not even fit alone.

    Raises:
        UserError: `too_large` of such an item.
    """
    try:
        return list(work(batch))
    except tf.errors.ResourceExhaustedError:
        if len(batch) == 1:
            raise UserError(too_large(batch[0])) from None
    half = len(batch) // 2
    logger.warning("a batch of %d sentences does not fit: halved", len(batch))
    return [
        *in_halves(batch[:half], work, too_large),
        *in_halves(batch[half:], work, too_large),
    ]
