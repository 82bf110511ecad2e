"""Bracketed trees from files: the LDC's `.mrg`, one tree a line, gzip, any line ends.

A broken tree is refused with its file and line and takes no other with it: the next line that
begins a tree is read as one. What begins a tree depends on how the file is laid out:

- one tree a line (more than half of the first lines are whole trees): every line with an opening
  bracket in its first column;
- several lines a tree, as the LDC ships them: such a line if it bears a wrapper (`( (S`, `(TOP`)
  or the label that the file's first tree bears.

A line that begins with a blank continues the tree before it, if that one is still open.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from keras_transformer.errors import UserError
from keras_transformer.text.trees import ROOT_LABELS, UNTAGGED, Tree, unescape_brackets

# ASCII blanks only: a no-break space is part of its word.
_TOKEN = re.compile(r"[()]|[^()\s]+", re.ASCII)
_OPENING = re.compile(r"([ \t]*)\([ \t]*([^()\s]*)", re.ASCII)
# What stands between the trees of LDC releases: `*x*x*x*` notices, and SGML marks such as <S ID=1>.
_BETWEEN_TREES = re.compile(r"\*x\*|<[^()]*>$")
_LINES_LOOKED_AT = 100


class TreeError(UserError):
    """A tree that cannot be read; the message begins with `file:line:`."""

    def __init__(self, name: str, line: int, problem: str) -> None:
        super().__init__(f"{name}:{line}: {problem}")
        self.name = name
        self.line = line


def read_trees(
    path: str | os.PathLike[str], on_error: Callable[[TreeError], None] | None = None
) -> Iterator[tuple[int, Tree]]:
    """Trees of one file, read as a stream.

    Args:
        path: a text file in UTF-8 (a byte order mark is allowed), gzipped if it begins so,
            whatever its name is.
        on_error: what to do with a tree that cannot be read, before going on with the next one;
            without it the error is raised.

    Yields:
        (line on which the tree begins, `Tree`), as read: nothing is cleaned.

    Raises:
        UserError: no such file, not UTF-8 or a damaged gzip file.
        TreeError: a tree cannot be read and there is no `on_error`.
    """
    name = os.fspath(path)
    yield from parse_trees(_file_lines(name), name, on_error)


def parse_tree(text: str, name: str = "tree") -> Tree:
    """The one tree in `text`.

    Raises:
        TreeError: there is no tree in it, more than one, or it cannot be read.
    """
    trees = [tree for _, tree in parse_trees(text.split("\n"), name)]
    if len(trees) != 1:
        raise TreeError(name, 1, f"{len(trees)} trees, expected one")
    return trees[0]


def parse_trees(
    lines: Iterable[str], name: str, on_error: Callable[[TreeError], None] | None = None
) -> Iterator[tuple[int, Tree]]:
    """Trees in lines of text; `name` is what error messages call the text. See `read_trees`."""

    def report(line: int, problem: str) -> None:
        error = TreeError(name, line, problem)
        if on_error is None:
            raise error
        on_error(error)

    for tokens in _balanced_brackets(lines, report):
        try:
            tree = _build(tokens)
        except _BrokenTree as broken:
            report(broken.line, str(broken))
        else:
            yield tokens[0][0], tree


Token = tuple[int, str]  # the line it stands on, and "(", ")" or a label or word


class _BrokenTree(Exception):
    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def _balanced_brackets(
    lines: Iterable[str], report: Callable[[int, str], None]
) -> Iterator[list[Token]]:
    """The tokens of one tree after another: from an opening bracket to the one that closes it."""
    stream = iter(lines)
    first_lines = list(islice(stream, _LINES_LOOKED_AT))
    begins_tree = _BeginsTree(first_lines)
    tokens: list[Token] = []
    depth = 0
    for number, line in enumerate(chain(first_lines, stream), start=1):
        if begins_tree(line) and depth:
            report(tokens[0][0], f"{depth} of its brackets are not closed: add the missing )")
            tokens, depth = [], 0
        elif not depth and _BETWEEN_TREES.match(line.strip()):
            continue
        finished: list[list[Token]] = []
        stray = ""
        for token in _TOKEN.findall(line):
            if token == "(":
                depth += 1
            elif not depth:
                # This casts doubt on the tree before it on the same line: its brackets may be
                # counted wrong, so that it is not taken either.
                if finished:
                    finished.pop()
                stray = stray or token
                continue
            elif token == ")":
                depth -= 1
            tokens.append((number, token))
            if not depth:
                finished.append(tokens)
                tokens = []
        yield from finished
        if stray:
            report(
                number, f"{stray[:40]!r} stands outside every bracket: one ) too many, or no tree"
            )
    if depth:
        report(tokens[0][0], f"{depth} of its brackets are not closed: add the missing )")


class _BeginsTree:
    """Whether a line begins a tree, even if the one before it is not closed (module docstring)."""

    def __init__(self, first_lines: list[str]) -> None:
        filled = [line for line in first_lines if line.strip()]
        self._one_a_line = sum(map(_is_one_tree, filled)) * 2 > len(filled)
        self._first_label: str | None = None

    def __call__(self, line: str) -> bool:
        opening = _OPENING.match(line)
        if not opening:
            return False
        blanks, label = opening.groups()
        if self._first_label is None:
            self._first_label = label
        if blanks:
            return self._one_a_line and label in ROOT_LABELS and label != ""
        return self._one_a_line or label in ROOT_LABELS or label == self._first_label


def _is_one_tree(line: str) -> bool:
    """Whether the line begins with a bracket in its first column and is a whole tree."""
    return line.startswith("(") and line.count("(") == line.count(")")


def _build(tokens: list[Token]) -> Tree:
    """The tree of balanced tokens. Raises `_BrokenTree` for a bracket without a word."""
    stack: list[Tree] = []
    bare: list[bool] = []  # one an open bracket: all it holds so far is words without a tag
    after_opening = False
    for line, token in tokens:
        if token == "(":
            stack.append(Tree(""))
            bare.append(True)
            after_opening = True
            continue
        if token == ")":
            node = stack.pop()
            words_only = bare.pop()
            if not node.children:
                where = "" if line == tokens[0][0] else f" (the tree begins on line {tokens[0][0]})"
                raise _BrokenTree(
                    line, f"the bracket ({node.label} ) holds no word: add it or delete it{where}"
                )
            is_wrapper = not stack and node.label in ROOT_LABELS
            if words_only and len(node.children) == 1 and not is_wrapper:
                node.word = node.children.pop().word
            if not stack:
                return node
            stack[-1].children.append(node)
            bare[-1] = False
        elif after_opening:
            stack[-1].label = token
        else:
            stack[-1].children.append(Tree.leaf(UNTAGGED, unescape_brackets(token)))
        after_opening = False
    raise AssertionError("the brackets were balanced")


def _file_lines(name: str) -> Iterator[str]:
    """Lines without their line ends, split at LF alone; CR is deleted. Gzip is found by content."""
    try:
        with open(name, "rb") as raw:
            is_gzip = raw.read(2) == b"\x1f\x8b"
        opener = gzip.open if is_gzip else open
        with opener(name, "rb") as stream:
            for number, line in enumerate(stream, start=1):
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                try:
                    yield line.replace(b"\r", b"").rstrip(b"\n").decode("utf-8")
                except UnicodeDecodeError as error:
                    raise TreeError(
                        name, number, f"not UTF-8 at byte {error.start + 1} of the line: convert it"
                    ) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{name}: damaged gzip file ({error}): fetch it again") from None
    except OSError as error:
        raise UserError(f"{name}: cannot be read: {error.strerror or error}") from None
