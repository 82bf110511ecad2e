"""What can be written where: nothing is left behind by looking."""

from __future__ import annotations

import os

import pytest

from keras_transformer.cli.output_places import make_folder, require_file, require_folder
from keras_transformer.errors import UserError


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone" / "further")
    (tmp_path / "here").symlink_to(tmp_path)
    return tmp_path


@pytest.mark.parametrize("place", ["", "new", "new/below", "here", "here/new"])
def test_folders_that_can_be_made(folder, place):
    before = sorted(os.listdir(folder))
    require_folder(folder / place, "--output_dir")
    assert sorted(os.listdir(folder)) == before
    make_folder(folder / place, "--output_dir")
    assert (folder / place).is_dir()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("file", "file is no folder; give another --output_dir"),
        ("file/below/it", "file is no folder"),
        ("nowhere", "nowhere is no folder"),
        ("nowhere/below", "nowhere is no folder"),
        ("/proc", "/proc takes no new file"),
        ("/proc/below/it", "/proc takes no new file"),
    ],
)
def test_folders_that_cannot_be_made(folder, place, message):
    for require in (require_folder, make_folder):
        with pytest.raises(UserError, match=message) as caught:
            require(folder / place, "--output_dir")
        assert str(caught.value).startswith(f"{folder / place} cannot be made or written: ")


@pytest.mark.parametrize("place", ["file", "new", "here/new"])
def test_files_that_can_be_written(folder, place, monkeypatch):
    monkeypatch.chdir(folder)
    for path in (place, folder / place):
        require_file(path, "--plot")
    assert (folder / "file").read_text() == "kept"
    assert not (folder / "new").exists()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("here", "is a folder: give a file's name as --plot"),
        ("file/below", "file is no folder; give another --plot"),
        ("new/below", "there is no folder .*new; give another --plot"),
        ("nowhere/below", "nowhere is no folder"),
        ("/proc/below", "/proc takes no new file"),
    ],
)
def test_files_that_cannot_be_written(folder, place, message):
    with pytest.raises(UserError, match=message):
        require_file(folder / place, "--plot")


def test_files_below_folders_that_the_program_makes(folder):
    require_file(folder / "new" / "below" / "it", "--decode_to_file", makes_folders=True)
    with pytest.raises(UserError, match="file is no folder"):
        require_file(folder / "file" / "below" / "it", "--decode_to_file", makes_folders=True)
    assert not (folder / "new").exists()
