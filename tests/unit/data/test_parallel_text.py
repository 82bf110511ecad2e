"""Lines that belong together."""

from __future__ import annotations

import gzip
import logging

import pytest

from keras_transformer.data import parallel_text
from keras_transformer.data.text_problem import (
    text2text_txt_iterator,
    text2text_txt_tab_iterator,
)
from keras_transformer.errors import UserError


def _write(path, text):
    data = text.encode("utf-8")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def test_pairs_are_stripped_in_the_unicode_sense(tmp_path):
    source = _write(tmp_path / "a", "\u00a0one \u3000\n\n\u2028two\u2028x\f\n\ufeffthree\n")
    target = _write(tmp_path / "b.gz", " eins\t\n zwei\n\r\ndr\rei")
    assert list(parallel_text.read_pairs(source, target)) == [
        ("one", "eins"),
        ("", "zwei"),
        ("two\u2028x", ""),
        ("\ufeffthree", "drei"),
    ]


@pytest.mark.parametrize(("first", "second"), [("a\nb\nc\n", "A\nB\n"), ("a\nb\n", "A\nB\nC\n")])
def test_the_longer_files_tail_is_left_out_with_a_warning(tmp_path, caplog, first, second):
    source, target = _write(tmp_path / "a", first), _write(tmp_path / "b", second)
    with caplog.at_level(logging.WARNING):
        assert list(parallel_text.read_pairs(source, target)) == [("a", "A"), ("b", "B")]
    assert "only the first 2 pairs are used" in caplog.text


def test_unequal_and_empty_files_can_be_refused(tmp_path):
    source, target = _write(tmp_path / "a", "a\nb\nc\n"), _write(tmp_path / "b.gz", "A\nB")
    with pytest.raises(UserError, match=r"a has 3 lines, .*b\.gz has 2"):
        parallel_text.require_same_length(source, target)
    empty = _write(tmp_path / "c", "")
    with pytest.raises(UserError, match="are empty"):
        parallel_text.require_same_length(empty, empty)


def test_only_segments_of_sgm_files_are_text(tmp_path):
    source = _write(
        tmp_path / "src.en.sgm",
        '<srcset setid="x">\n<doc>\n<p>\n<seg id="1"> A &amp; B </seg>\n</p>\n</doc>\n</srcset>\n',
    )
    target = _write(
        tmp_path / "ref.de.sgm",
        '<refset setid="x">\n<doc>\n<p>\n<seg id="1">A u. B</seg>\n</p>\n</doc>\n</refset>\n',
    )
    assert list(parallel_text.read_pairs(source, target)) == [("A &amp; B", "A u. B")]


def test_tensor2tensors_iterators(tmp_path):
    source, target = _write(tmp_path / "a", " x \n"), _write(tmp_path / "b", "y\n")
    assert list(text2text_txt_iterator(source, target)) == [{"inputs": "x", "targets": "y"}]
    table = _write(tmp_path / "t", "x\ty\tz\nno tab\n")
    assert list(text2text_txt_tab_iterator(table)) == [{"inputs": "x", "targets": "y\tz"}]
