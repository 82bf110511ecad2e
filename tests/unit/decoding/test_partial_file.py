"""Unfinished files: outputs of several lines, places that do not take them."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
from contextlib import contextmanager

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


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_nothing_but_a_file_is_replaced(tmp_path, make):
    target = tmp_path / "out"
    make(target)
    with pytest.raises(UserError, match="out is no regular file"):
        PartialFile(target, {})
    assert [path.name for path in tmp_path.iterdir()] == ["out"] and not target.is_file()


@contextmanager
def files_no_larger_than(size: int):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_takes_no_more(tmp_path):
    target, lines = tmp_path / "out", [f"{number:0200d}" for number in range(100)]
    with (
        pytest.raises(UserError, match=r"out.partial cannot be written: File too large"),
        files_no_larger_than(10_000),
        PartialFile(target, {}) as partial,
    ):
        partial.write(lines[:40])
        partial.write(lines[40:])
    assert not target.exists()
    with PartialFile(target, {}) as partial:
        assert partial.lines == 49  # what the disk took, to the last whole line
        partial.write(lines[49:])
        partial.finish()
    assert target.read_text() == "".join(f"{line}\n" for line in lines)


def test_a_disk_that_takes_nothing(tmp_path):
    with (
        pytest.raises(UserError, match=r"out.partial.json cannot be written: File too large"),
        files_no_larger_than(1),
    ):
        PartialFile(tmp_path / "out", {"input": "abc"})
    assert [path.name for path in tmp_path.iterdir()] == ["out.partial"]
    with PartialFile(tmp_path / "out", {"input": "abc"}) as partial:
        assert partial.lines == 0


def test_a_drive_without_locks_is_warned_of(tmp_path, monkeypatch, caplog):
    def refuses(stream, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuses)
    with PartialFile(tmp_path / "out", {}) as partial:
        partial.write(["a"])
        partial.finish()
    assert (tmp_path / "out").read_text() == "a\n"
    assert "cannot be locked (No locks available)" in caplog.text
