"""Raw English sentences as the words that the Penn Treebank has.

After the treebank's own conventions (the LDC's tokenization page; Marcus et al. 1993): commas and
most marks stand alone, `"` becomes two backquotes or two apostrophes, contractions come apart
(`do n't`, `John 's`, `can not`), hyphenated words stay whole, and only the full stop that ends
the sentence is cut off. One sentence a line is expected. Brackets stay `(` and `)`: it is the
written tree that says -LRB- and -RRB-.
"""

from __future__ import annotations

import re

_TYPOGRAPHIC = str.maketrans(
    {
        "\u2018": "`", "\u2019": "'", "\u201c": "``", "\u201d": "''", "\u201e": "``",
        "\u2013": "--", "\u2014": "--", "\u2026": "...",
    }
)  # fmt: skip

_TOKEN = re.compile(
    r"""
      (?:https?://|www\.)[^\s"<>()]*[^\s"<>().,;:?!']     # addresses stay whole
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
    | (?:US|C|A|HK|NZ|S)\$                                # currencies of the treebank
    | ``|''|"
    | \.{2,} | -{2,}
    | (?:(?!--|\.\.|''|``)(?:[^\s,:;?!()\[\]{}<>"%$\#] | (?<=\d)[,:](?=\d)))+   # a word
    | \S
    """,
    re.VERBOSE,
)
_OPENS_A_QUOTE_AFTER = ("", "(", "[", "{", "<", "--", "``", "`", "...", '"')
_CLOSERS = frozenset({'"', "''", "'", ")", "]", "}", ">"})

_SUFFIX = re.compile(r"(?i)(?<=.)(?:n't|'s|'m|'d|'ll|'re|'ve|')$")
# Written as one word, two words in the treebank: how many letters the first one has.
_TWO_WORDS = {
    "cannot": 3, "gonna": 3, "gotta": 3, "wanna": 3, "gimme": 3, "lemme": 3, "d'ye": 2,
    "more'n": 4, "'tis": 2, "'twas": 2,
}  # fmt: skip
# An apostrophe before these is theirs and opens no quotation.
_CLIPPED = frozenset(
    {"'em", "'til", "'cause", "'bout", "'round", "'tis", "'twas"}
    | {"'s", "'m", "'d", "'t", "'ll", "'re", "'ve"}
)

# `U.S.`, `p.m.`: a sentence that ends in one of these has another full stop after it in the
# treebank; `Inc.` and its like lose theirs.
_LETTERS_WITH_STOPS = re.compile(r"(?:[^\W\d]\.){2,}$")
_LDC_BRACKETS = {"[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}


def penn_tokenize(sentence: str, escape_slashes: bool = False) -> list[str]:
    """The words of a raw English sentence; none for a blank one.

    Args:
        sentence: one sentence. Text that is tokenised already comes out as it was, but for `"`
            and typographic quotation marks and dashes.
        escape_slashes: write `\\/` and `\\*` for `/` and `*`, and `-LSB-`, `-LCB-` and so on for
            square and curly brackets, as the LDC's Wall Street Journal trees do; later treebanks
            do not.
    """
    tokens: list[tuple[str, str]] = []  # with the token before in the same run of letters
    for chunk in sentence.translate(_TYPOGRAPHIC).split():  # a no-break space is a blank here
        before = ""
        for token in _TOKEN.findall(chunk):
            tokens.append((token, before))
            before = token
    _cut_final_stop(tokens)
    words = [word for token, before in tokens for word in _words(token, before)]
    if escape_slashes:
        words = [re.sub(r"(?<!\\)[/*]", r"\\\g<0>", word) for word in words]
        words = [_LDC_BRACKETS.get(word, word) for word in words]
    return words


def _words(token: str, before: str) -> list[str]:
    """One match of `_TOKEN` as treebank words."""
    if token == '"':
        return ["``" if before in _OPENS_A_QUOTE_AFTER else "''"]
    if token in ("''", "``", "'n'") or "://" in token:
        return [token]
    words: list[str] = []
    if len(token) > 1 and token[0] in "'`" and before in _OPENS_A_QUOTE_AFTER:
        clipped = token.lower().rstrip(".") in _CLIPPED or token[1].isdigit()
        if not clipped:
            words.append("`")
            token = token[1:]
    first = _TWO_WORDS.get(token.lower())
    if first is not None:
        return [*words, token[:first], token[first:]]
    endings: list[str] = []
    while match := _SUFFIX.search(token):
        endings.append(match.group())
        token = token[: match.start()]
    return [*words, token, *reversed(endings)]


def _cut_final_stop(tokens: list[tuple[str, str]]) -> None:
    """Cuts off the full stop of the last token that is not a closing mark, in place."""
    place = len(tokens) - 1
    while place > 0 and tokens[place][0] in _CLOSERS:
        place -= 1
    token, before = tokens[place] if tokens else ("", "")
    word = token.rstrip("'")  # `'Go.'` has its quotation mark still on
    if len(word) < 2 or not word.endswith(".") or set(word) == {"."}:
        return
    rest = [("'", ".") for _ in token[len(word) :]]
    tokens[place : place + 1] = [
        (word if _LETTERS_WITH_STOPS.search(word) else word[:-1], before),
        (".", word),
        *rest,
    ]
