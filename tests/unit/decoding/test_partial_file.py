"""Unfinished files of outputs that have several lines."""

from __future__ import annotations

import pytest

from keras_transformer.decoding.partial_file import PartialFile
from keras_transformer.errors import UserError

TREES = ["(TOP\n  (NP (NN a)))", "(TOP (NN b))", "", "(TOP\n  (NP\n    (NN c)))"]


@pytest.mark.parametrize("written, kept", [(1, 0), (2, 1), (3, 2), (4, 3)])
@pytest.mark.parametrize("torn", ["", "  (N"])
def test_the_last_of_several_lines_is_written_again(tmp_path, written, kept, torn):
    """Nothing tells whether a kill cut its end off."""
    target = tmp_path / "out"
    with PartialFile(target, {"a": 1}, indented=True) as partial:
        partial.write(TREES[:written])
    with partial.partial.open("a") as stream:
        stream.write(torn)
    with PartialFile(target, {"a": 1}, indented=True) as partial:
        assert partial.lines == kept
        partial.write(TREES[kept:])
        partial.finish()
    assert target.read_text() == "".join(f"{tree}\n" for tree in TREES)


@pytest.mark.parametrize("indented", [False, True])
def test_outputs_written_out_of_order(tmp_path, indented):
    trees = TREES if indented else [tree.replace("\n", " ") for tree in TREES]
    order = [2, 0, 3, 1]
    target = tmp_path / "out"
    with PartialFile(target, {}, indented) as partial:
        partial.write(trees[place] for place in order)
        with pytest.raises(UserError, match="holds 4 outputs for 3 sentences"):
            partial.finish(order[:3])
        assert not target.exists()
        partial.finish(order)
    assert target.read_text() == "".join(f"{tree}\n" for tree in trees)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
