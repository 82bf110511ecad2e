"""Records end at LF alone; what cannot be read is named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from keras_transformer.errors import UserError
from keras_transformer.text.lines import count_lines, read_lines, write_lines


@pytest.mark.parametrize(
    ("stored", "records"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"\n", [""]),
        (b"a\r\nb\rc\r\r\n\r", ["a", "bc", ""]),  # every CR goes; a lone last one is a record
        ("a\u2028b\x85c\x0bd\x0ce\x1cf\x00g\n".encode(), ["a\u2028b\x85c\x0bd\x0ce\x1cf\x00g"]),
        ("\ufeff a \n".encode(), ["\ufeff a "]),  # nothing is stripped, as in Tensor2Tensor
    ],
)
@pytest.mark.parametrize("name", ["text.en", "text.en.gz"])
def test_records(tmp_path: Path, name: str, stored: bytes, records: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(stored) if name.endswith(".gz") else stored)
    assert list(read_lines(path)) == records
    assert count_lines(path) == len(records)


def test_count_does_not_depend_on_block_boundaries(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * ((1 << 20) - 1) + b"\n" + b"y\n" * 5)
    assert count_lines(path) == 6


def test_bad_utf8_names_file_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "prices"
    path.write_bytes(b"first\r\n1\r \xa3 each\nlast\n")
    lines = read_lines(path)
    assert next(lines) == "first"
    with pytest.raises(UserError, match=r"prices, line 2: the byte 0xA3 at byte 4 .*offset 10"):
        next(lines)


def test_bad_utf8_can_be_replaced_and_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "prices"
    path.write_bytes(b"first\n1 \xa3 each\nlast\n")
    assert list(read_lines(path, errors="replace")) == ["first", "1 \ufffd each", "last"]
    assert "prices: 1 records" in caplog.text


def test_missing_file_and_directory_are_refused_before_the_first_record(tmp_path: Path) -> None:
    for function in (read_lines, count_lines):
        with pytest.raises(UserError, match=r"nowhere: no such file"):
            function(tmp_path / "nowhere")
        with pytest.raises(UserError, match="is a directory"):
            function(tmp_path)


# Without a time, or parallel workers would name the test differently.
HALF_A_GZIP = gzip.compress(b"some text\n" * 99, mtime=0)[:-9]


@pytest.mark.parametrize("stored", [b"plain text", HALF_A_GZIP, b""])
def test_broken_gzip_is_named(tmp_path: Path, stored: bytes) -> None:
    path = tmp_path / "corpus.gz"
    path.write_bytes(stored)
    if not stored:  # gzip reads an empty file as empty text, and so does TensorFlow
        assert list(read_lines(path)) == []
        return
    with pytest.raises(UserError, match=r"corpus\.gz is not a whole gzip file"):
        list(read_lines(path))
    with pytest.raises(UserError, match=r"corpus\.gz is not a whole gzip file"):
        count_lines(path)


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_what_is_written_reads_back(tmp_path: Path, name: str) -> None:
    records = ["", " a\t", "é\u2028漢\x00", ""]
    path = tmp_path / name
    write_lines(path, records)
    assert list(read_lines(path)) == records
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("record", "message"),
    [("a\nb", r"line 2.*'a\\nb'"), ("a\rb", r"'a\\rb'"), ("a\ud800", r"U\+D800")],
)
def test_a_refused_record_leaves_the_old_file(tmp_path: Path, record: str, message: str) -> None:
    path = tmp_path / "out"
    write_lines(path, ["old"])
    with pytest.raises(UserError, match=message):
        write_lines(path, ["new", record])
    assert list(read_lines(path)) == ["old"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_an_unwritable_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere/out cannot be written"):
        write_lines(tmp_path / "nowhere" / "out", ["a"])
