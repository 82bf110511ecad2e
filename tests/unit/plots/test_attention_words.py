"""Labels of attention maps."""

from __future__ import annotations

import pytest

from keras_transformer.plots.attention_words import Word, label
from keras_transformer.text.byte_encoder import ByteTextEncoder
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.text.token_encoder import TokenTextEncoder

EOS = 1
# Every character stands for itself; a few longer entries.
ENCODER = SubwordTextEncoder(
    ["<pad>_", "<EOS>_", "Dat", "ei_", "die_", ". ", " /_", "NP_", ", _"]
    + [character for character in sorted(set("abcdeinstuADLNPRBT ,./-()_\\;0123456789ö"))]
)


def words(text, encoder=ENCODER, **how):
    labels = label([*encoder.encode(text), EOS], encoder, **how)
    covered = [place for word in labels.words for place in range(word.first, word.end)]
    assert covered == list(range(len(labels.subtokens)))
    return [word.text for word in labels.words]


def test_subtokens_and_the_words_they_make_up():
    labels = label([*ENCODER.encode("die Datei"), EOS], ENCODER)
    assert labels.subtokens == ("die", "Dat", "ei", "<EOS>")
    assert labels.words == (Word("die", 0, 1), Word("Datei", 1, 3), Word("<EOS>", 3, 4))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("die, Datei.", ["die", ",", "Datei", ".", "<EOS>"]),
        ("a  b", ["a", "␣", "b", "<EOS>"]),
        ("a_b", ["a", "_", "b", "<EOS>"]),  # escaped in the vocabulary
        ("日", ["日", "<EOS>"]),  # spelled by number: several subtokens, one word
    ],
)
def test_words_are_tokens_of_the_tokenizer(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A NP D /NP", ["A", "NP", "D", "/NP", "<EOS>"]),
        ("a -LRB- b", ["a", "-LRB-", "b", "<EOS>"]),
        ("a/b cd", ["a/b", "cd", "<EOS>"]),
        ("-LRB-a-RRB- .", ["-LRB-a-RRB-", ".", "<EOS>"]),  # the token `- .` holds a blank
    ],
)
def test_symbols_of_parsing_models_go_by_blanks(text, expected):
    assert words(text, words_at_blanks=True) == expected


def test_bytes_are_joined_between_blanks():
    labels = label([*ByteTextEncoder().encode("ö ab"), EOS], ByteTextEncoder())
    assert labels.subtokens == ("0xC3", "0xB6", "␣", "a", "b", "<EOS>")
    assert [word.text for word in labels.words] == ["ö", "ab", "<EOS>"]


@pytest.mark.parametrize("reverse", [False, True])
def test_other_encoders_have_words(reverse):
    encoder = TokenTextEncoder(["<pad>", "<EOS>", "S", "NP"], reverse=reverse)
    assert [word.text for word in label([2, 3, EOS], encoder).words] == ["S", "NP", "<EOS>"]


def test_signs_that_turn_the_text_around_are_shown():
    encoder = TokenTextEncoder(["<pad>", "<EOS>", "\u202eevil\u202c", "שלום"])
    assert [word.text for word in label([2, 3], encoder).words] == ["�evil�", "שלום"]


def test_ids_that_mean_nothing_are_shown_by_number():
    size = ENCODER.vocab_size
    labels = label([2, size + 3, 3], ENCODER)
    assert [word.text for word in labels.words] == ["Dat", f"#{size + 3}", "ei"]


def test_what_the_decoder_reads_is_one_step_behind():
    read = label([*ENCODER.encode("die Datei"), EOS], ENCODER).read_by_decoder()
    assert read.subtokens == ("<start>", "die", "Dat", "ei")
    assert [(word.text, word.first, word.end) for word in read.words] == [
        ("<start>", 0, 1),
        ("die", 1, 2),
        ("Datei", 2, 4),
    ]
    # An output that was cut off inside a word.
    cut = label(ENCODER.encode("die Datei"), ENCODER).read_by_decoder()
    assert [(word.first, word.end) for word in cut.words] == [(0, 1), (1, 2), (2, 3)]
