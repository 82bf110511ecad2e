"""The Moses steps against what the Perl scripts printed, in their forms of 2017 and today."""

from __future__ import annotations

from pathlib import Path

import pytest

from keras_transformer.errors import UserError
from keras_transformer.scoring.compound_split import split_compounds
from keras_transformer.scoring.moses import FORMS, MosesTokenizer, replace_unicode_punctuation

GOLDEN = Path(__file__).parents[2] / "golden" / "moses"


def lines(name: str, form: str = "today") -> list[str]:
    """Golden lines: those of 2017 where the script of that year did otherwise."""
    path = GOLDEN / name
    older = GOLDEN / "moses-2017" / name
    if form == "2017" and older.exists():
        path = older
    return path.read_bytes().decode("utf-8").split("\n")[:-1]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", ["tricky", "controls"])
def test_replacement_of_punctuation(text, form):
    replaced = [replace_unicode_punctuation(line, form) for line in lines(f"{text}.de")]
    assert replaced == lines(f"{text}.punct.de", form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("language", ["de", "en"])
@pytest.mark.parametrize("text", ["tricky", "controls"])
def test_tokens(text, language, form):
    tokenizer = MosesTokenizer(language, form)
    tokens = [tokenizer.tokenize(line) for line in lines(f"{text}.de")]
    assert tokens == lines(f"{text}.tok.{language}", form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("source", "expected", "replaced"),
    [
        ("tricky.de", "tricky.atat.de", True),
        ("tricky.de", "tricky.tok.atat.de", False),
        ("controls.de", "controls.atat.de", True),
        ("controls.de", "controls.tok.atat.de", False),
        ("libreoffice.hyp.de", "libreoffice.hyp.atat.de", True),
        ("libreoffice.ref.de", "libreoffice.ref.atat.de", False),
    ],
)
def test_whole_way_of_hypothesis_and_reference(source, expected, replaced, form):
    tokenizer = MosesTokenizer("de", form)
    text = lines(source)
    if replaced:
        text = [replace_unicode_punctuation(line, form) for line in text]
    result = [split_compounds(tokenizer.tokenize(line)) for line in text]
    assert result == lines(expected, form)


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        # Elided articles stay with their apostrophe in French and Italian.
        (
            "fr",
            "L'été, c'est 3,5 € aujourd'hui.",
            "L&apos; été , c&apos; est 3,5 € aujourd&apos; hui .",
        ),
        ("it", "dell'anno '90", "dell&apos; anno &apos; 90"),
        (
            "en",
            "It's the 1990's, o' course 'n",
            "It &apos;s the 1990 &apos;s , o &apos; course &apos; n",
        ),
        # The list says that "No." keeps its stop before a number only.
        ("en", "No. 7 is no No. Seven.", "No. 7 is no No . Seven ."),
        ("es", "¿Qué? d'Or", "¿ Qué ? d &apos; Or"),
    ],
)
def test_rules_of_languages(language, text, tokens):
    assert MosesTokenizer(language).tokenize(text) == tokens


def test_long_runs_of_dots_take_linear_time():
    text = "." * 100_000 + "x" + "." * 50_000
    assert MosesTokenizer().tokenize(text) == "." * 100_000 + " x " + "." * 50_000


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a-b-c", "a ##AT##-##AT## b-c"),
        ("A-Ü-B", "A ##AT##-##AT## Ü ##AT##-##AT## B"),
        ("a--b", "a ##AT##-##AT## -b"),
        ("rich-text - format", "rich ##AT##-##AT## text - format"),
        ("a–b −c- -d", "a–b −c- -d"),
    ],
)
def test_compounds(line, expected):
    assert split_compounds(line) == expected


def test_unknown_names_are_refused():
    with pytest.raises(UserError, match="'xx': it must be one of cs, de, en"):
        MosesTokenizer("xx")
    with pytest.raises(UserError, match="'2018': it must be one of 2017, today"):
        MosesTokenizer("de", "2018")
    with pytest.raises(UserError, match="'now'"):
        replace_unicode_punctuation("a", "now")
