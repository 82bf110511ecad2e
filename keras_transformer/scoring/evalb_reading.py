"""A line of a tree file as EVALB reads it: words, brackets, and what is wrong with it.

EVALB's reader is no treebank reader: it takes `( S` for a word, reads a bracket that is never
closed, and compares bytes. Its rules are kept here, so that its figures come out; trees for other
purposes are read by `keras_transformer.text`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from keras_transformer.scoring.evalb_parameters import ASCII_WHITE_SPACE, EvalbParameters

MORE_THAN_TWO = "More than two elements in a bracket"
STRAY_WORD = "Reading sentence"
NOT_CLOSED = "Bracketing is unbalanced (too many open bracket)"
NOT_OPENED = "Bracketing unbalance (too many close bracket)"

# What EVALB has room for. Beyond it, it writes over its own memory or cuts the line in two.
_MAX_LINE_BYTES = 4998  # 4,999 with the line end
_MAX_WORDS = 200
_MAX_BRACKETS = 200
_MAX_WORD_BYTES = 99
_MAX_LABEL_BYTES = 29
_MAX_QUOTES = 20

_QUOTES = ("'", '"', "/")
_NOT_A_SIGN = f"{ASCII_WHITE_SPACE}()"
# "(", a label, and if white space follows: a word, with the sign after it.
_OPENING = re.compile(
    rf"\((?P<label>[^{_NOT_A_SIGN}]*)"
    rf"(?=(?P<space>[{ASCII_WHITE_SPACE}]+)?(?P<word>[^{_NOT_A_SIGN}]*)(?P<after>.)?)",
    re.DOTALL,
)
_SPACE = re.compile(f"[{ASCII_WHITE_SPACE}]+")
_STRAY = re.compile(f"[^{_NOT_A_SIGN}]+")


@dataclass
class Bracket:
    """A constituent over the words `start` to `end` (not included); `end` is -1 if never closed."""

    label: str
    start: int
    end: int = -1


@dataclass(eq=False)  # the one mark, not one that looks the same
class Quote:
    """A word that may be put back: a `'`, `"` or `/` under a tag of QUOTE_LABEL.

    Attributes:
        index: words before it, deleted ones not counted.
        bracket: brackets that began before it.
        open_brackets: numbers of the brackets around it.
    """

    word: str
    tag: str
    index: int
    bracket: int
    open_brackets: list[int]


@dataclass
class EvalbTree:
    """One tree after deletion of words.

    Attributes:
        words, tags: the words left and their tags.
        brackets: all constituents in the order they open, deleted labels among them.
        quotes: see `Quote`.
        length: words without those that do not count towards the length.
        errors: EVALB's messages about the line.
        beyond: what EVALB has no room for, in words.
    """

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    brackets: list[Bracket] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    length: int = 0
    errors: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)

    def put_back(self, quote: Quote) -> None:
        """Inserts a deleted quotation mark as a word again."""
        self.words.insert(quote.index, quote.word)
        self.tags.insert(quote.index, quote.tag)
        for bracket in self.brackets[quote.bracket :]:
            bracket.start += 1
            bracket.end += 1
        for number in quote.open_brackets:
            self.brackets[number].end += 1
        # Later marks move on by one, and this one with them.
        for later in self.quotes[self.quotes.index(quote) :]:
            later.index += 1


def read_tree(line: str, parameters: EvalbParameters) -> EvalbTree:
    """Reads one line. Never fails: what is wrong stands in `errors` and `beyond`.

    Where EVALB goes on for ever (a word outside a bracket of its own) or reads outside its memory
    (a closing bracket too many), the sign is passed over. A NUL ends the line, as in C.
    """
    line = line.partition("\0")[0]
    tree = EvalbTree()
    open_brackets: list[int] = []
    longest_label = longest_word = 0
    position = 0
    while position < len(line):
        opening = _OPENING.match(line, position)
        if opening:
            label, word = opening["label"], opening["word"]
            longest_label = max(longest_label, _bytes(label))
            if opening["space"] and opening["after"] == ")":
                longest_word = max(longest_word, _bytes(word))
                _add_word(tree, word, label, open_brackets, parameters)
                position = opening.end("after")
                continue
            if opening["space"] and word and opening["after"] != "(":
                tree.errors.append(MORE_THAN_TWO)
            if not word and opening["after"] is None:
                tree.beyond.append("a line that ends at a label, where EVALB reads another's rest")
            open_brackets.append(len(tree.brackets))
            tree.brackets.append(Bracket(label, len(tree.words)))
            position = opening.end("label")
        elif line[position] == ")":
            if open_brackets:
                tree.brackets[open_brackets.pop()].end = len(tree.words)
            else:
                tree.errors.append(NOT_OPENED)
                tree.beyond.append("a closing bracket too many, where EVALB leaves its memory")
            position += 1
        elif space := _SPACE.match(line, position):
            position = space.end()
        elif stray := _STRAY.match(line, position):
            tree.errors.append(STRAY_WORD)
            position = stray.end()
    if open_brackets:
        tree.errors.append(NOT_CLOSED)
    sizes = (
        (_bytes(line), _MAX_LINE_BYTES, "bytes in the line"),
        (len(tree.words), _MAX_WORDS, "words"),
        (len(tree.brackets), _MAX_BRACKETS, "brackets"),
        (longest_word, _MAX_WORD_BYTES, "bytes in a word"),
        (longest_label, _MAX_LABEL_BYTES, "bytes in a label"),
        (len(tree.quotes), _MAX_QUOTES, "quotation marks"),
    )
    tree.beyond += [f"{n} {what}, EVALB holds {most}" for n, most, what in sizes if n > most]
    return tree


def _add_word(
    tree: EvalbTree, word: str, tag: str, open_brackets: list[int], parameters: EvalbParameters
) -> None:
    if tag not in parameters.deleted_for_length:
        tree.length += 1
    if tag in parameters.quote_labels and word in _QUOTES:
        tree.quotes.append(
            Quote(word, tag, len(tree.words), len(tree.brackets), list(open_brackets))
        )
    if tag not in parameters.deleted_labels:
        tree.words.append(word)
        tree.tags.append(tag)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", errors="surrogateescape"))
