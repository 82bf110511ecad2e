"""Faults that people met with text files and vocabularies, each with the input that shows it."""

from __future__ import annotations

import itertools
import logging
from pathlib import Path

import pytest

from keras_transformer.errors import UserError
from keras_transformer.text.lines import count_lines, read_lines
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.text.vocabulary_builder import VocabularyBuilder, count_tokens

DATA = Path(__file__).parent / "data"
ORDINARY = Path(__file__).parents[1] / "golden" / "text_encoders" / "corpus.ende.txt"


@pytest.fixture(scope="module")
def encoder() -> SubwordTextEncoder:
    return SubwordTextEncoder.learn(read_lines(ORDINARY), 500)


def _store_and_load(encoder: SubwordTextEncoder, folder: Path) -> SubwordTextEncoder:
    encoder.save(folder / "vocab")
    loaded = SubwordTextEncoder.load(folder / "vocab")
    assert loaded.subtokens == encoder.subtokens
    assert loaded.alphabet == encoder.alphabet
    return loaded


def test_underscore_and_backslash_survive_the_round_trip(
    encoder: SubwordTextEncoder, tmp_path: Path
) -> None:
    # tensorflow/tensor2tensor#74, #66: text with the escape syntax in it came back changed.
    loaded = _store_and_load(encoder, tmp_path)
    lines = list(read_lines(DATA / "escape_round_trip.txt"))
    assert len(lines) == 6
    assert [loaded.decode(loaded.encode(line)) for line in lines] == lines


def test_text_that_looks_like_a_reserved_token(encoder: SubwordTextEncoder) -> None:
    # tensorflow/tensor2tensor#3, #1263: ids 0 and 1 inside a text end or empty it.
    lines = list(read_lines(DATA / "reserved_strings.txt"))
    ids = [encoder.encode(line) for line in lines]
    assert min(itertools.chain.from_iterable(ids)) >= 2
    assert [encoder.decode(row) for row in ids] == lines


def test_no_blank_between_the_subtokens_of_a_word(tmp_path: Path) -> None:
    # tensorflow/tensor2tensor#333: decoded pieces were joined with blanks.
    lines = list(read_lines(DATA / "subtokens_joined.txt"))
    counts = count_tokens(lines)
    letters = SubwordTextEncoder(VocabularyBuilder(counts).build(min_count=3))
    for encoder in (letters, SubwordTextEncoder.learn(lines, 60)):
        loaded = _store_and_load(encoder, tmp_path)
        assert [loaded.decode(loaded.encode(line)) for line in lines] == lines
    pieces = sum(len(letters.encode(line)) for line in lines)
    assert pieces > 3 * sum(counts.values())  # words break into letters


@pytest.mark.parametrize("target_size", [1, 40, 32768])
def test_size_search_on_a_tiny_corpus(
    target_size: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # tensorflow/tensor2tensor#95, #81, #56: the search crashed or went on when no minimum count
    # gives the wanted size.
    lines = list(read_lines(DATA / "tiny_corpus.txt"))
    with caplog.at_level(logging.INFO):
        encoder = SubwordTextEncoder.learn(lines, target_size)
    assert f"{encoder.vocab_size} subtokens ({target_size} were wanted)" in caplog.text
    loaded = _store_and_load(encoder, tmp_path)
    assert [loaded.decode(loaded.encode(line)) for line in lines] == lines
    assert set("".join(lines)) - {" "} <= set(loaded.subtokens)


def test_an_empty_corpus_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(UserError, match="no text to learn a vocabulary from"):
        SubwordTextEncoder.learn(read_lines(tmp_path / "empty"), 100)


def test_windows_line_ends() -> None:
    # tensorflow/tensor2tensor#1395: CR became a token at the end of each sentence.
    windows, unix = (list(read_lines(DATA / name)) for name in ("crlf.src", "lf.src"))
    assert windows == unix
    assert len(windows) == count_lines(DATA / "crlf.src") == 4
    learned = SubwordTextEncoder.learn(windows, 60)
    assert learned.subtokens == SubwordTextEncoder.learn(unix, 60).subtokens
    assert not any("\r" in entry for entry in learned.subtokens)


def test_a_stray_return_or_tab(tmp_path: Path) -> None:
    # OpenNMT/OpenNMT-tf#108, tensorflow/nmt#268: a vocabulary entry that does not read back.
    sides = [list(read_lines(DATA / name)) for name in ("lone_cr.src", "lone_cr.tgt")]
    assert list(map(len, sides)) == [3, 3]
    assert sides[0][1:] == ["secondrecord with a return", "third\trecord with a tab"]
    encoder = SubwordTextEncoder.learn(itertools.chain(*sides), 60)
    assert "\t" in encoder.subtokens
    loaded = _store_and_load(encoder, tmp_path)
    assert loaded.decode(loaded.encode(sides[0][2])) == sides[0][2]


@pytest.mark.parametrize("text", ["one\rtwo", "one\ntwo"])
def test_an_entry_with_a_line_end_is_refused_by_name(text: str, tmp_path: Path) -> None:
    encoder = SubwordTextEncoder.learn([text], 60)
    with pytest.raises(UserError, match=r"the subtoken '.*\\[rn].*' .* holds a line end"):
        encoder.save(tmp_path / "vocab")
    assert not list(tmp_path.iterdir())


def test_a_nul_byte_ends_no_line() -> None:
    # OpenNMT/OpenNMT#383, #489: files with equal line counts judged unequal.
    sides = [list(read_lines(DATA / name)) for name in ("nul_bytes.src", "nul_bytes.tgt")]
    assert [count_lines(DATA / name) for name in ("nul_bytes.src", "nul_bytes.tgt")] == [3, 3]
    pairs = list(zip(*sides, strict=True))
    assert pairs[2] == ("after the zero", "nach der Null")
    assert pairs[1][0] == "zero \x00 inside"


def test_bytes_that_are_not_utf8() -> None:
    # tensorflow/tensor2tensor#1246, #857, #359: a bare UnicodeDecodeError.
    with pytest.raises(UserError, match=r"bad_utf8\.src, line 2: the byte 0xA3"):
        list(read_lines(DATA / "bad_utf8.src"))
    assert list(read_lines(DATA / "bad_utf8.src", errors="replace"))[1] == "ten \ufffd a piece"


@pytest.mark.parametrize("name", ["unicode_separators.src", "unicode_separators.tgt"])
def test_other_line_separators_end_no_record(
    name: str, encoder: SubwordTextEncoder, tmp_path: Path
) -> None:
    # huggingface/evaluate#601, src-d/style-analyzer#519.
    lines = list(read_lines(DATA / name))
    assert len(lines) == count_lines(DATA / name) == 4
    assert [encoder.decode(encoder.encode(line)) for line in lines] == lines
    own = _store_and_load(SubwordTextEncoder.learn(lines, 60), tmp_path)
    assert {"\u2028", "\x85", "\x0c"} & set(own.subtokens) == {"\u2028", "\x85", "\x0c"}
    assert [own.decode(own.encode(line)) for line in lines] == lines
