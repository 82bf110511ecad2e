"""The Moses tokenizer and replacement of punctuation, as the Perl scripts do them.

Own code with the results of `tokenizer.perl` (no flag but the language) and
`replace-unicode-punctuation.perl` of the Moses decoder, in two forms: "2017" is the commit
59bad94fc of 2017-05-29, the last before the paper; "today" is 34452895f of 2025-02-03. The lists of
abbreviations are those that sacremoses carries. Its tokenizer is not used: it reads a line of
white space, Han and Hangul letters, Indic vowel killers and the control characters U+001C to
U+001F in other ways than the Perl script does.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

from keras_transformer.errors import UserError
from keras_transformer.scoring import character_classes

Form = Literal["2017", "today"]
FORMS: tuple[Form, ...] = ("2017", "today")

# Languages whose rules are known here: "en" and the Romance ones treat apostrophes in their own
# ways, the others set every apostrophe apart.
LANGUAGES = ("cs", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ro", "ru")
_ELIDING_LANGUAGES = ("fr", "it")

_ALPHABETIC = character_classes.PERL_ALPHABETIC
_NUMBER = character_classes.PERL_NUMBER

_WHITE_SPACE = re.compile(f"[{character_classes.PERL_WHITE_SPACE}]+")
_CONTROL = re.compile("[\\x00-\\x1f]")
_BLANKS = re.compile(" +")
_DOTS = re.compile(r"\.(\.+)")
_DOTS_MARK = re.compile(r"DOTMULTI(\.+)")
_RESTORED_DOTS = re.compile(r"((?:DOT)+)MULTI")
_LAST_STOP_AND_APOSTROPHE = re.compile(r"\.' ?$")
_NUMERIC_ONLY = re.compile(r"(.*)\s+#NUMERIC_ONLY#")
_ESCAPES = str.maketrans(
    {
        "&": "&amp;",
        "|": "&#124;",
        "<": "&lt;",
        ">": "&gt;",
        "'": "&apos;",
        '"': "&quot;",
        "[": "&#91;",
        "]": "&#93;",
    }
)


@functools.cache
def _special() -> re.Pattern[str]:
    """Any character that stands apart always."""
    alphanumeric = _ALPHABETIC + character_classes.PERL_DECIMAL_NUMBER
    return re.compile(rf"([^{alphanumeric}{character_classes.PERL_WHITE_SPACE}.'`,\-])")


@functools.cache
def _commas() -> tuple[tuple[re.Pattern[str], str], ...]:
    """A comma stays only between two numbers."""
    return (
        (re.compile(f"([^{_NUMBER}]),"), r"\1 , "),
        (re.compile(f",([^{_NUMBER}])"), r" , \1"),
        (re.compile(f"([{_NUMBER}]),$"), r"\1 ,"),
    )


@functools.cache
def _apostrophes(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    letter, other = f"([{_ALPHABETIC}])", f"([^{_ALPHABETIC}])"
    if language == "en":
        rules = [
            (f"{other}'{other}", r"\1 ' \2"),
            (f"([^{_ALPHABETIC}{_NUMBER}])'{letter}", r"\1 ' \2"),
            (f"{letter}'{other}", r"\1 ' \2"),
            (f"{letter}'{letter}", r"\1 '\2"),
            (f"([{_NUMBER}])'(s)", r"\1 '\2"),
        ]
    elif language in _ELIDING_LANGUAGES:
        rules = [
            (f"{other}'{other}", r"\1 ' \2"),
            (f"{other}'{letter}", r"\1 ' \2"),
            (f"{letter}'{other}", r"\1 ' \2"),
            (f"{letter}'{letter}", r"\1' \2"),
        ]
    else:
        rules = [("'", " ' ")]
    return tuple((re.compile(pattern), replacement) for pattern, replacement in rules)


@functools.cache
def _abbreviations(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Words whose full stop stays: before any word, and before a number only."""
    from sacremoses.corpus import NonbreakingPrefixes

    always, before_number = set(), set()
    for entry in NonbreakingPrefixes().words(language):
        numeric = _NUMERIC_ONLY.match(entry)
        if numeric:
            before_number.add(numeric[1])
        else:
            always.add(entry)
    return frozenset(always), frozenset(before_number)


class MosesTokenizer:
    """`tokenizer.perl -l LANGUAGE`: splits words from punctuation and escapes special signs.

    Args:
        language: one of `LANGUAGES`; checked against the Perl script: de and en.
        form: "2017" keeps the full stop of a last word such as `usw.` or `v2.0.`, as the script
            did until November 2018; "today" always sets it apart.

    Raises:
        UserError: if language or form is unknown.
    """

    def __init__(self, language: str = "de", form: Form = "2017"):
        if language not in LANGUAGES:
            raise UserError(
                f"the Moses tokenizer has no rules for the language {language!r}: "
                f"it must be one of {', '.join(LANGUAGES)}"
            )
        _check_form(form)
        self.language = language
        self.form = form
        self._letter = re.compile(f"[{_ALPHABETIC}]")
        self._lowercase = re.compile(f"[{character_classes.PERL_LOWERCASE}]")
        self._always, self._before_number = _abbreviations(language)

    def tokenize(self, line: str) -> str:
        """One line, without its line end, to words with blanks between them.

        A line of white space alone comes back as it is, as the script prints it.
        """
        if not _WHITE_SPACE.sub("", line):
            return line
        text = _CONTROL.sub("", _WHITE_SPACE.sub(" ", f" {line} "))
        text = _trim(text)
        text = _special().sub(r" \1 ", text)
        text = _mark_dots(text)
        for pattern, replacement in (*_commas(), *_apostrophes(self.language)):
            text = pattern.sub(replacement, text)
        text = _trim(self._separate_full_stops(text))
        text = _LAST_STOP_AND_APOSTROPHE.sub(" . ' ", text)
        text = _RESTORED_DOTS.sub(lambda match: "." * (len(match[1]) // 3), text)
        return text.translate(_ESCAPES)

    def _separate_full_stops(self, text: str) -> str:
        # A run of blanks gives empty words here, as Perl's split does: a word before one is not
        # followed by a small letter or a number.
        words = text.rstrip(" ").split(" ")
        result = []
        for index, word in enumerate(words):
            following = words[index + 1] if index + 1 < len(words) else None
            if len(word) > 1 and word.endswith(".") and not self._keeps_stop(word[:-1], following):
                word = f"{word[:-1]} ."
            result.append(word)
        return " ".join(result) + " "

    def _keeps_stop(self, stem: str, following: str | None) -> bool:
        """Whether the full stop after `stem` stays; `following` is None after the last word."""
        if following is None and self.form == "today":
            return False
        if "." in stem and self._letter.search(stem):
            return True
        if stem in self._always:
            return True
        if not following:
            return False
        if self._lowercase.match(following):
            return True
        return stem in self._before_number and "0" <= following[0] <= "9"


def _trim(text: str) -> str:
    """Single blanks only, and none at the ends."""
    return _BLANKS.sub(" ", text).strip(" ")


def _mark_dots(text: str) -> str:
    """Hides runs of n dots as n-1 times DOT and DOTMULTI, so that they stay one word."""

    def mark(match: re.Match[str]) -> str:
        blank = " " if match.end() < len(match.string) else ""
        return "DOT" * len(match[1]) + "DOTMULTI" + blank

    return _DOTS_MARK.sub(mark, _DOTS.sub(r" DOTMULTI\1", text))


_REPLACEMENTS = {
    **dict.fromkeys("“”《》「」", '"'),
    **{chr(ord("０") + digit): str(digit) for digit in range(10)},
    "，": ",",
    "、": ",",
    "∶": ":",
    "：": ":",
    "？": "?",
    "！": "!",
    "；": ";",
    "（": "(",
    "）": ")",
    "【": "[",
    "】": "]",
    "〈": "<",
    "〉": ">",
    "％": "%",
    "～": "~",
    "’": "'",
    "…": "...",
    "━": "-",
}
_REPLACEMENT_TABLES = {
    "2017": str.maketrans({**_REPLACEMENTS, "１": '"'}),  # a slip of the script until October 2019
    "today": str.maketrans(_REPLACEMENTS),
}
_WIDE_FULL_STOPS = re.compile("[。．] *")


def replace_unicode_punctuation(line: str, form: Form = "2017") -> str:
    """`replace-unicode-punctuation.perl`: typographic and full-width marks to ASCII.

    Only the marks that the script knows: `“ ” ’ …`, full-width marks and digits, and some Chinese
    ones; `„ ‚ ‘ « » – —` stay. The wide full stops take the blanks after them along.

    Raises:
        UserError: if the form is unknown.
    """
    _check_form(form)
    return _WIDE_FULL_STOPS.sub(". ", line.translate(_REPLACEMENT_TABLES[form]))


def _check_form(form: str) -> None:
    if form not in FORMS:
        raise UserError(f"Moses form {form!r}: it must be one of {', '.join(FORMS)}")
