"""Vocabularies learned here are those that Tensor2Tensor learned, byte for byte."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.errors import UserError
from keras_transformer.text.lines import read_lines
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.text.vocabulary_builder import VocabularyBuilder, count_tokens

GOLDEN = Path(__file__).parents[2] / "golden" / "text_encoders"
INDEX = json.loads((GOLDEN / "subword_index.json").read_text())


@pytest.mark.parametrize("golden", INDEX, ids=[entry["vocab_file"] for entry in INDEX])
def test_files_are_byte_equal(tmp_path: Path, golden: dict[str, Any]) -> None:
    options = dict(golden["kwargs"])
    lines = read_lines(GOLDEN / golden["corpus"])
    if golden["method"] == "build_from_generator":
        encoder = SubwordTextEncoder.learn(lines, golden["target_size"], **options)
    else:
        encoder = SubwordTextEncoder.learn_from_counts(
            count_tokens(lines),
            golden["target_size"],
            lowest_min_count=options["min_val"],
            highest_min_count=options["max_val"],
        )
    assert encoder.vocab_size == golden["vocab_size"]
    encoder.save(tmp_path / "vocab")
    assert (tmp_path / "vocab").read_bytes() == (GOLDEN / golden["vocab_file"]).read_bytes()


def test_texts_encode_the_same_before_saving() -> None:
    golden = json.loads((GOLDEN / "vocab.de.gen.300.subwords.cases.json").read_text())
    encoder = SubwordTextEncoder.learn(read_lines(GOLDEN / "corpus.de.txt"), 300)
    for case in golden["cases"]:
        assert encoder.encode(case["text"]) == case.get("ids_before_saving_vocab", case["ids"])


def test_random_counts() -> None:
    """Odd alphabets, reserved tokens that occur in the text, and all limits of the length."""
    for case in json.loads((GOLDEN / "random_counts.json").read_text()):
        encoder = SubwordTextEncoder.learn_from_counts(
            case["counts"], case["target"], case["ml"], case["res"], case["lo"], case["hi"]
        )
        assert list(encoder.subtokens) == case["vocab"]


def test_by_hand() -> None:
    # "ab_" three times, "b_" twice. Round 1 cuts into characters and counts
    # ab_ 3, ab 3, a 3, b_ 5, b 5, _ 5. Longest first: ab_ is kept and takes 3 from ab and a;
    # then ab has 0; b_ is kept and takes 5 from b. Round 2 cuts into ab_ and b_: b_ now counts 2.
    counts = {"ab": 3, "b": 2}
    entries = VocabularyBuilder(counts).build(min_count=2)
    assert entries[:4] == ["<pad>_", "<EOS>_", "ab_", "b_"]
    # Of at least 3 only ab_ is left then; single characters follow, the largest string first.
    assert VocabularyBuilder(counts).build(min_count=3)[:4] == ["<pad>_", "<EOS>_", "ab_", "b"]


def test_limit_of_the_length_counts_one_too_many() -> None:
    counts = {"abcdef": 9}
    for limit, longest in ((1, 1), (2, 1), (3, 2), (5, 4), (200, 7)):
        entries = VocabularyBuilder(counts, max_subtoken_length=limit).build(min_count=2)
        assert max(map(len, entries[2:])) == longest


def test_one_builder_gives_the_same_for_any_order_of_minimum_counts() -> None:
    counts = count_tokens(read_lines(GOLDEN / "corpus.en.txt"))
    alone = {m: VocabularyBuilder(counts).build(m) for m in (2, 7, 30)}
    shared = VocabularyBuilder(counts)
    for m in (7, 30, 2, 7, 30):
        assert shared.build(m) == alone[m]


def test_wanted_and_reached_size_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        encoder = SubwordTextEncoder.learn(["a b", "ab ab"], 999)
    assert f"{encoder.vocab_size} subtokens (999 were wanted)" in caplog.text


@pytest.mark.parametrize("lines", [[], [""], ["", ""]])
def test_no_text_is_refused(lines: list[str]) -> None:
    with pytest.raises(UserError, match="no text to learn a vocabulary from"):
        SubwordTextEncoder.learn(lines, 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target_size": 0}, "vocabulary size is 0: it must be at least 1"),
        ({"max_subtoken_length": 0}, "max_subtoken_length is 0"),
        ({"reserved_tokens": ["<EOS>", "<pad>"]}, "the first two must be <pad> and <EOS>"),
        ({"lowest_min_count": 5, "highest_min_count": 4}, "goes from 5 to 4"),
    ],
)
def test_arguments_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        SubwordTextEncoder.learn_from_counts({"a": 1}, **{"target_size": 100, **options})
