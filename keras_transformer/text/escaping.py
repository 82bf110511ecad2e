"""How a token is written so that every subword vocabulary can express it.

Tensor2Tensor's escapes (`data_generators/text_encoder.py`): a backslash is doubled, an underscore
becomes backslash + `u`, and a newline or a character outside the vocabulary's alphabet becomes
backslash + decimal code point + `;`. An underscore ends the escaped token and stands nowhere else
in it.
"""

from __future__ import annotations

import re

ESCAPE_CHARACTERS = "\\_u;0123456789"
"""Always part of the alphabet, so that the escaped form can itself be expressed."""

NOT_A_CODE_POINT = "\u3013"
"""The geta mark: what an escape reads as whose number is no code point, as in Tensor2Tensor."""

_ESCAPE = re.compile(r"\\u|\\\\|\\([0-9]+);")


def escape_token(token: str, alphabet: frozenset[str]) -> str:
    """The escaped form of a token, underscore at its end included.

    Args:
      token: any string.
      alphabet: characters that may stand for themselves; holds ESCAPE_CHARACTERS.
    """
    escaped = token.replace("\\", "\\\\").replace("_", "\\u")
    if "\n" in escaped or not alphabet.issuperset(escaped):
        escaped = "".join(
            character if character in alphabet and character != "\n" else f"\\{ord(character)};"
            for character in escaped
        )
    return escaped + "_"


def unescape_token(escaped: str) -> str:
    """The token of an escaped form whose underscore was taken off its end.

    What looks like no escape is left as it is, a lone backslash too. A number that names half of
    a surrogate pair gives that half, which UTF-8 cannot write.
    """
    if "\\" not in escaped:
        return escaped
    return _ESCAPE.sub(_unescaped, escaped)


def _unescaped(match: re.Match[str]) -> str:
    number = match.group(1)
    if number is None:
        return "_" if match.group() == "\\u" else "\\"
    try:
        return chr(int(number))
    except (ValueError, OverflowError):
        return NOT_A_CODE_POINT
