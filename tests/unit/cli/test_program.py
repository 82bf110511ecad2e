"""What ends a program: a message and status 2 for what a user can mend, else the traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path

import pytest

from keras_transformer.cli.program import Program
from keras_transformer.data import download


def _program(run):
    program = Program("kt-test", "a program of the tests")
    program.string("folder", "", "a folder")
    return program.main(run)


@pytest.mark.parametrize("below_a_file", ["", "x"])
def test_a_folder_that_cannot_be_made_ends_with_a_message(tmp_path, capsys, below_a_file):
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / below_a_file

    assert _program(lambda flags: os.makedirs(flags.folder))([f"--folder={folder}"]) == 2

    captured = capsys.readouterr()
    message = captured.err.splitlines()
    assert len(message) == 1 and captured.out == ""
    assert message[0].startswith(f"kt-test: {tmp_path / 'file'}")
    assert message[0].endswith("name another") or message[0].endswith("name another folder")


@pytest.mark.parametrize(
    "write",
    [
        lambda place: os.makedirs(place),
        lambda place: Path(place).write_text("x"),
        lambda place: download.fetch(Path(__file__).as_uri(), f"{place}/file"),
    ],
    ids=["a folder", "a file", "a download"],
)
def test_a_folder_that_takes_nothing_ends_with_a_message(capsys, write):
    assert _program(lambda flags: write(flags.folder))(["--folder=/proc/x"]) == 2
    message = capsys.readouterr().err.splitlines()
    assert len(message) == 1 and message[0].startswith("kt-test: /proc/x cannot be")


def test_a_full_disk_ends_with_a_message(capsys):
    def run(flags):
        with open("/dev/full", "wb", buffering=0) as stream:
            stream.write(b"x")

    assert _program(run)([]) == 2
    assert "No space left on device; make room there" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["Ü", "\\udcff"])
def test_what_the_locale_cannot_show_is_printed_as_an_escape(monkeypatch, text):
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))

    assert _program(lambda flags: print(text, flush=True))([]) == 0
    assert shown.getvalue() == text.encode("ascii", "backslashreplace") + b"\n"


def test_help_into_a_full_disk_ends_with_a_message(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.FileIO("/dev/full", "w")))

    assert _program(lambda flags: None)(["--help"]) == 2
    assert "No space left on device" in capsys.readouterr().err


def test_a_shard_cut_off_ends_with_a_message(tmp_path, capsys):
    import tensorflow as tf

    shard = tmp_path / "a_problem-train-00001-of-00002"
    whole = tmp_path / "a_problem-train-00000-of-00002"
    with tf.io.TFRecordWriter(str(whole)) as writer:
        writer.write(b"a record")
    with tf.io.TFRecordWriter(str(shard)) as writer:
        writer.write(b"a record")
    shard.write_bytes(shard.read_bytes()[:-5])

    def read(flags):
        for _ in tf.data.TFRecordDataset([str(whole), str(shard)]):
            pass

    assert _program(read)([]) == 2
    message = capsys.readouterr().err
    assert "a file of the data is cut off or damaged" in message and "Traceback" not in message

    program = Program("kt-test", "a program of the tests")
    program.string("data_dir", None, "where shards are")
    assert program.main(read)([f"--data_dir={tmp_path}"]) == 2
    assert f"kt-test: {shard} is cut off or damaged" in capsys.readouterr().err


def test_a_missing_folder_is_a_users_mistake_and_a_file_that_has_gone_is_not(tmp_path, capsys):
    assert _program(lambda flags: (tmp_path / "none" / "file").touch())([]) == 2
    assert "make the folder that holds it" in capsys.readouterr().err
    with pytest.raises(FileNotFoundError):
        _program(lambda flags: (tmp_path / "gone").read_text())([])


def test_nan_is_no_value_of_a_flag(capsys):
    program = Program("kt-test", "a program of the tests")
    program.float("seconds", 1.0, "a time", 0)

    assert program.main(lambda flags: None)(["--seconds=nan"]) == 2
    assert "--seconds=nan is not a number" in capsys.readouterr().err


def test_an_error_that_no_user_causes_keeps_its_traceback():
    def run(flags):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    with pytest.raises(OSError, match="Bad file descriptor"):
        _program(run)([])


def test_a_flagfile_that_is_not_text_is_refused(tmp_path, capsys):
    (tmp_path / "flags").write_bytes(b"--folder=caf\xe9\n")

    assert _program(lambda flags: None)([f"--flagfile={tmp_path / 'flags'}"]) == 2
    assert "--flagfile is not a text file in UTF-8" in capsys.readouterr().err
