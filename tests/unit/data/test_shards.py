"""Names of shards, and which sets of them are trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformer.data import shards
from keras_transformer.errors import UserError

GOLDEN = Path(__file__).parents[2] / "golden" / "data_pipeline"


def test_names_are_tensor2tensors():
    names = json.loads((GOLDEN / "records.json").read_text())["file_names_all_splits"]
    for key, shuffled in (("training_shuffled", True), ("training_unshuffled", False)):
        if key in names:
            made = shards.paths("", "oracle_toy_ende", "train", len(names[key]), shuffled)
            assert made == names[key]
    assert shards.paths("d", "p", "dev", 1) == ["d/p-dev-00000-of-00001"]
    assert shards.paths("", "p", "train", 2, shuffled=False)[1] == (
        "p-unshuffled-train-00001-of-00002"
    )


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


def test_a_whole_set_is_found_in_order(tmp_path):
    _touch(
        tmp_path,
        "p-train-00001-of-00002",
        "p-train-00000-of-00002",
        "p_packed-train-00000-of-00003",
    )
    assert [Path(path).name for path in shards.find(str(tmp_path), "p", "train")] == [
        "p-train-00000-of-00002",
        "p-train-00001-of-00002",
    ]
    assert shards.is_complete(str(tmp_path), "p", ["train"])
    assert not shards.is_complete(str(tmp_path), "p", ["train", "dev"])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no file p-train-00000-of-"),
        (["p-train-00000-of-00002"], "1 of 2 .* first missing is p-train-00001-of-00002"),
        (["p-train-00000-of-00001", "p-train-00000-of-00002"], "2 sets"),
        (["p-train-00000-of-00001", "p-unshuffled-train-00000-of-00001"], "unfinished"),
        (["p-train-00000-of-00001", "p.partial"], "unfinished"),
    ],
)
def test_anything_else_is_refused(tmp_path, names, message):
    _touch(tmp_path, *names)
    assert not shards.is_complete(str(tmp_path), "p", ["train"])
    with pytest.raises(UserError, match=message):
        shards.find(str(tmp_path), "p", "train")
