"""Constituency trees: a bracket with a label over brackets or over one word.

The written form is the Penn Treebank's: `(TOP (NP (DT The) (NN cat)))`. A tree keeps words as the
plain text has them; only the written form says `-LRB-` for `(`, since a bracket in a word would
open or close a constituent there. Nothing here recurses, so that a tree of any depth can be
read, compared and written.

Source: Marcus et al. 1993 and the LDC's release 3 for the format. Other brackets in a word (`[`,
`{`, or what some treebanks write for them, `-LSB-`) harm nothing and stay as they come, since EVALB
compares words sign for sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# A word that stands beside brackets or other words has no tag of its own. The placeholder is that
# of Vinyals & Kaiser et al. 2014, which keeps one tag for every word.
UNTAGGED = "XX"

EMPTY_ELEMENT_TAG = "-NONE-"  # of traces and whatever else has no sound

# Labels of the wrapper around a whole sentence: "" is the LDC's own `( (S ...))`, TOP is EVALB's,
# ROOT the Stanford parser's, S1 the Charniak parser's.
ROOT_LABELS = frozenset({"", "TOP", "ROOT", "S1"})

BRACKET_ESCAPES = {"(": "-LRB-", ")": "-RRB-"}
_BRACKET = re.compile(r"[()]")
_ESCAPE = re.compile("|".join(BRACKET_ESCAPES.values()))
_BRACKET_OF = {escape: bracket for bracket, escape in BRACKET_ESCAPES.items()}
# Blanks as EVALB and C know them. A no-break space or a line separator is part of its word.
_BLANKS = re.compile(r"[ \t\n\r\f\v]+")


def escape_brackets(word: str) -> str:
    """`word` as it is written in a tree: `t(est)` becomes `t-LRB-est-RRB-`."""
    return _BRACKET.sub(lambda match: BRACKET_ESCAPES[match.group()], word)


def unescape_brackets(word: str) -> str:
    """The plain word of a written one: `-LRB-` becomes `(`, also inside a word."""
    return _ESCAPE.sub(lambda match: _BRACKET_OF[match.group()], word)


def split_words(sentence: str) -> list[str]:
    """The words of a tokenised sentence, cut at ASCII blanks only; none for a blank sentence."""
    return [word for word in _BLANKS.split(sentence) if word]


class Tree:
    """A bracket: `label` over `children`, or, as a leaf, a part-of-speech tag over one `word`.

    Attributes:
        label: the phrase label or, in a leaf, the part-of-speech tag; "" for an unlabelled root.
        children: the brackets inside, from left to right; empty in a leaf.
        word: the plain word of a leaf (`(`, not `-LRB-`); None in a phrase.
    """

    __slots__ = ("children", "label", "word")

    def __init__(self, label: str, children: Sequence[Tree] = (), word: str | None = None) -> None:
        self.label = label
        self.children = list(children)
        self.word = word

    @classmethod
    def leaf(cls, tag: str, word: str) -> Tree:
        return cls(tag, word=word)

    @property
    def is_leaf(self) -> bool:
        return self.word is not None

    def nodes(self) -> Iterator[Tree]:
        """Every bracket, a phrase before what is inside, from left to right."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    def events(self) -> Iterator[tuple[Tree, bool]]:
        """(bracket, True) where it opens, (bracket, False) where it closes, in written order."""
        pending = [(self, True)]
        while pending:
            node, opens = pending.pop()
            yield node, opens
            if opens:
                pending.append((node, False))
                pending.extend((child, True) for child in reversed(node.children))

    def leaves(self) -> Iterator[Tree]:
        return (node for node in self.nodes() if node.is_leaf)

    def words(self) -> list[str]:
        """The plain words, from left to right."""
        return [node.word for node in self.nodes() if node.word is not None]

    def tags(self) -> list[str]:
        """The part-of-speech tags, one a word."""
        return [leaf.label for leaf in self.leaves()]

    def spans(self) -> list[tuple[str, int, int]]:
        """(label, first word, word after the last) of every phrase, outer before inner."""
        found: list[tuple[str, int, int]] = []
        open_spans: list[int] = []
        position = 0
        for node, opens in self.events():
            if node.is_leaf:
                position += opens
            elif opens:
                open_spans.append(len(found))
                found.append((node.label, position, position))
            else:
                index = open_spans.pop()
                found[index] = (*found[index][:2], position)
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        pairs = [(self, other)]
        while pairs:
            mine, theirs = pairs.pop()
            if (mine.label, mine.word) != (theirs.label, theirs.word):
                return False
            if len(mine.children) != len(theirs.children):
                return False
            pairs.extend(zip(mine.children, theirs.children, strict=True))
        return True

    __hash__ = None  # type: ignore[assignment]  # a tree can be changed

    def __str__(self) -> str:
        """The tree on one line; a tree without words is `(())`, EVALB's mark of a failed parse."""
        parts: list[str] = []
        for node, opens in self.events():
            if not opens:
                parts.append(")")
                continue
            if parts:
                parts.append(" ")
            parts.append("(" + escape_brackets(node.label))
            if node.word is not None:
                parts.append(" " + escape_brackets(node.word))
        return "".join(parts) if any(node.is_leaf for node in self.nodes()) else "(())"

    def __repr__(self) -> str:
        return f"Tree({str(self)!r})"
