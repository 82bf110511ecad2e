"""The picture of Table 3."""

from __future__ import annotations

import math

import pytest

from keras_transformer.errors import UserError
from keras_transformer.reproduce.plot import distances, plot
from keras_transformer.reproduce.recipes import Request


@pytest.fixture
def results(made_up_result):
    return [
        made_up_result(Request(table=3, rows=(row,), data_dir="d"), perplexity=perplexity)
        for row, perplexity in (("base", 5.0), ("C1", 10.0), ("D3", 4.0))
    ]


def test_distances_are_those_to_the_base_row(results):
    assert distances(results) == {
        "C1": (math.log(2), math.log(6.11 / 4.92)),
        "D3": (math.log(0.8), math.log(4.67 / 4.92)),
    }
    for some in (results[:1], results[1:]):
        with pytest.raises(UserError, match="against the row base"):
            distances(some)


def test_an_image_is_written(results, tmp_path):
    pytest.importorskip("matplotlib")
    plot(results, str(tmp_path / "table3.png"))
    assert (tmp_path / "table3.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UserError, match="no image format"):
        plot(results, str(tmp_path / "table3"))
