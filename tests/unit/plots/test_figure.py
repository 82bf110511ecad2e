"""A figure's file name: what is no image's name is refused before anything is drawn into it."""

from __future__ import annotations

import pytest

from keras_transformer.errors import UserError
from keras_transformer.plots.figure import new_figure, save_figure


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plot", "ends in no image format"),
        ("folder.png", "is a folder"),
        ("plot.xyz", "ends in no image format"),
        ("missing/plot.png", "there is no folder"),
    ],
)
def test_a_name_that_cannot_be_an_image_is_refused(tmp_path, name, message):
    pytest.importorskip("matplotlib")
    (tmp_path / "folder.png").mkdir()

    with pytest.raises(UserError, match=message):
        save_figure(new_figure("--plot"), str(tmp_path / name), "--plot")

    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]
