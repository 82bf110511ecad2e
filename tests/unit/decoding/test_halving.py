from __future__ import annotations

import pytest
import tensorflow as tf

from keras_transformer.decoding.halving import in_halves
from keras_transformer.errors import UserError


def memory_for(most: int, sizes: list[int]):
    """Work that takes `most` items at a time."""

    def work(part):
        sizes.append(len(part))
        if len(part) > most:
            raise tf.errors.ResourceExhaustedError(None, None, "out of memory")
        return (item * 10 for item in part)

    return work


@pytest.mark.parametrize(
    ("most", "expected"),
    [(9, [7]), (3, [7, 3, 4, 2, 2]), (1, [7, 3, 1, 2, 1, 1, 4, 2, 1, 1, 2, 1, 1])],
)
def test_answers_stay_in_order(most, expected):
    sizes: list[int] = []
    found = in_halves(range(7), memory_for(most, sizes), "{} is too large".format)
    assert found == [item * 10 for item in range(7)]
    assert sizes == expected


def test_what_does_not_fit_alone_is_named():
    with pytest.raises(UserError, match="3 is too large"):
        in_halves([3, 4], memory_for(0, []), "{} is too large".format)
