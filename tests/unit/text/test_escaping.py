"""Escapes and the way back."""

from __future__ import annotations

import pytest

from keras_transformer.text.escaping import ESCAPE_CHARACTERS, escape_token, unescape_token

ALPHABET = frozenset(ESCAPE_CHARACTERS + "abc\n")


@pytest.mark.parametrize(
    ("token", "escaped"),
    [
        ("abc", "abc_"),
        ("", "_"),
        ("a_b", r"a\ub_"),
        ("a\\b", r"a\\b_"),
        (r"\u", r"\\u_"),
        ("é", r"\233;_"),
        ("漢\U0001f600", r"\28450;\128512;_"),
        ("a\n", r"a\10;_"),  # a newline is escaped although the alphabet has it
        ("\x00", r"\0;_"),
        (r"\95;", r"\\95;_"),
    ],
)
def test_escape_and_back(token: str, escaped: str) -> None:
    assert escape_token(token, ALPHABET) == escaped
    assert unescape_token(escaped[:-1]) == token


@pytest.mark.parametrize(
    ("escaped", "token"),
    [
        ("\\", "\\"),  # a lone backslash stays
        (r"\x", r"\x"),
        (r"\12", r"\12"),
        (r"\;", r"\;"),
        (r"\\\u", r"\_"),
        (r"\\\\65;", r"\\65;"),
        (r"\\\65;", r"\A"),
        (r"\0000000065;", "A"),
        (r"\1114112;", "\u3013"),  # one past the last code point
        ("\\" + "9" * 5000 + ";", "\u3013"),
        (r"\55296;", "\ud800"),
        (r"\٣;", r"\٣;"),  # only ASCII digits count
    ],
)
def test_unescape_of_what_no_encoder_wrote(escaped: str, token: str) -> None:
    assert unescape_token(escaped) == token
