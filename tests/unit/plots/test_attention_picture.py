"""The picture of one layer."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.plots.attention import KINDS, head_colours
from keras_transformer.plots.attention_picture import write_picture
from tests.unit.plots.attention_example import HEADS, example, long_example

image = pytest.importorskip("matplotlib.image", reason="the extra `plots` is not installed")


def drawn(path):
    return np.rint(255 * image.imread(path)[..., :3]).astype(int)


def has_colour(pixels, colour):
    wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return bool((abs(pixels - wanted).sum(axis=-1) <= 6).any())


@pytest.mark.parametrize("kind", KINDS)
def test_a_panel_for_each_head(kind, tmp_path):
    path = tmp_path / "map.png"
    write_picture(example(), path, kind)
    pixels = drawn(path)
    # Each head's title is in its colour.
    assert all(has_colour(pixels, colour) for colour in head_colours(HEADS))
    assert list(tmp_path.iterdir()) == [path]
    one = tmp_path / "one.png"
    write_picture(example(), one, kind, layer=0, heads=[1])
    first, second, _ = head_colours(HEADS)
    assert has_colour(drawn(one), second) and not has_colour(drawn(one), first)
    assert drawn(one).shape[1] < pixels.shape[1]


def test_subtokens_take_more_room_than_words(tmp_path):
    write_picture(example(), tmp_path / "words.png")
    write_picture(example(), tmp_path / "subtokens.png", words=False)
    assert drawn(tmp_path / "subtokens.png").shape[1] > drawn(tmp_path / "words.png").shape[1]


def test_a_very_long_word_takes_no_more_room_than_a_long_one(tmp_path):
    sizes = []
    for length in (25, 300):
        write_picture(example("w" * length), tmp_path / "picture.svg")
        sizes.append(re.search(r'viewBox="([^"]*)"', (tmp_path / "picture.svg").read_text())[1])
    assert sizes[0] == sizes[1]


def test_panels_of_a_long_sentence_stand_below_each_other(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    sizes = []
    for heads in ([0], [0, 1]):
        write_picture(long_example(), tmp_path / "picture.png", heads=heads, dpi=40)
        sizes.append(image.imread(tmp_path / "picture.png").shape[:2])
    (height, width), (height_of_both, width_of_both) = sizes
    assert width_of_both < 1.1 * width and height_of_both > 1.5 * height


def test_other_formats_go_by_the_ending(tmp_path):
    write_picture(example("plain"), tmp_path / "map.svg")
    text = (tmp_path / "map.svg").read_text()
    assert "<svg" in text and "encoder" not in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer": 2}, "there is no layer 3: this model has 1 to 2"),
        ({"heads": [0, 3]}, "there is no head 4: this model has 1 to 3"),
    ],
)
def test_what_the_model_does_not_have(changes, message, tmp_path):
    with pytest.raises(UserError, match=message):
        write_picture(example(), tmp_path / "map.png", **changes)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["map.xyz", "no/such/folder.png"])
def test_a_file_that_cannot_be_written(name, tmp_path):
    with pytest.raises(UserError, match="cannot be written"):
        write_picture(example("plain"), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_matplotlib_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"keras-transformer-t2t\[plots\]"):
        write_picture(example(), tmp_path / "map.png")
