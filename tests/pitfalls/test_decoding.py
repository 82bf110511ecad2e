"""Lines that broke other decoders: blank, of white space, far too long, with odd separators."""

from __future__ import annotations

from pathlib import Path

import pytest

from keras_transformer.decoding.decode_file import decode_file
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.translation import EMPTY, Translation
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.text.lines import read_lines

DATA = Path(__file__).parent / "data"
GOLDEN = Path(__file__).parents[1] / "golden"
VOCABULARY = GOLDEN / "data_pipeline" / "data" / "vocab.oracle_toy_ende.256.subwords"


@pytest.fixture(scope="module")
def translator():
    run = GOLDEN / "t2t_trainer_run"
    return Translator.load(run, vocab_file=str(VOCABULARY))


@pytest.fixture
def decode(tmp_path, translator):
    def run(source: Path) -> list[str]:
        target = tmp_path / f"{source.name}.out"
        decode_file(translator, source, target, DecodeOptions(beam_size=2, extra_length=10))
        return target.read_text(encoding="utf-8").removesuffix("\n").split("\n")

    return run


def test_blank_lines_stay_blank_and_change_no_other(decode, tmp_path, caplog):
    source = DATA / "blank_lines.src"
    lines = decode(source)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    filled = tmp_path / "filled"
    filled.write_text("".join(f"{line}\n" for line in read_lines(source) if line))
    assert lines[1] == lines[3] == ""
    assert lines[0::2] == decode(filled)
    assert all(lines[0::2])


def test_white_space_gives_an_empty_line(decode):
    lines = decode(DATA / "whitespace_only.src")
    assert [bool(line) for line in lines] == [True, False, False, False, False, True]


def test_a_very_long_line_is_named_and_spoils_no_other(decode, tmp_path, caplog):
    source = DATA / "one_long_line.src"
    lines = decode(source)
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "line 3 has" in warning and "subtokens, more than the" in warning
    records = list(read_lines(source))
    short = tmp_path / "short"
    short.write_text("\n".join([*records[:2], "a short line", *records[3:]]) + "\n")
    expected = decode(short)
    assert len(lines) == len(expected) == 5
    assert lines[:2] + lines[3:] == expected[:2] + expected[3:]


def test_lines_that_are_missing_are_no_success(tmp_path):
    class Forgetful:
        problem = None

        def translate(self, lines, options, first_number=0):
            return (Translation(line, (EMPTY,)) for line in list(lines)[:-1])

    target = tmp_path / "out"
    with pytest.raises(UserError, match="4 lines were written for 5 lines"):
        decode_file(Forgetful(), DATA / "one_long_line.src", target, DecodeOptions())
    assert not target.exists()


def test_only_line_feeds_end_a_record(decode):
    assert len(decode(DATA / "unicode_separators.src")) == 4


def test_windows_line_ends_change_nothing(decode):
    assert decode(DATA / "crlf.src") == decode(DATA / "lf.src")
