"""Parses as text: `--parse_format=tree|symbols|pretty|json`.

`tree` is one bracketed tree a line, as EVALB reads it; `symbols` T2T's linear form; `pretty` a
tree over several lines, as the LDC prints them; `json` one object a line.
"""

from __future__ import annotations

import json

from keras_transformer.errors import UserError
from keras_transformer.text.trees import Tree, escape_brackets
from keras_transformer.text.trees_linearise import linearise
from keras_transformer.text.trees_repair import Repairs

PARSE_FORMATS = ("tree", "symbols", "pretty", "json")

_INDENT = 2  # columns a level
_DEEPEST_INDENT = 40  # levels; brackets further inside stand in the same column


def format_parse(tree: Tree, parse_format: str, repairs: Repairs | None = None) -> str:
    """One parse in one of `PARSE_FORMATS`, without a line end after it.

    Args:
        tree: the parse with its root, as `tree_from_symbols` makes it.
        parse_format: one of `PARSE_FORMATS`.
        repairs: what was mended; only `json` says so.

    Raises:
        UserError: no such format.
    """
    if parse_format == "tree":
        return str(tree)
    if parse_format == "symbols":
        return " ".join(linearise(tree))
    if parse_format == "pretty":
        return pretty(tree)
    if parse_format == "json":
        return _as_json(tree, repairs)
    raise UserError(
        f"parse_format is {parse_format!r}: it must be one of {', '.join(PARSE_FORMATS)}"
    )


def pretty(tree: Tree, width: int = 80) -> str:
    """The tree over several lines; a bracket stays on one line if it ends before `width` columns.

    Reads back as the same tree: only the first line begins in the first column.
    """
    lengths: dict[int, int] = {}
    for node, opens in tree.events():
        if not opens:
            inside = sum(1 + lengths[id(child)] for child in node.children)
            word = 1 + len(escape_brackets(node.word)) if node.word is not None else 0
            lengths[id(node)] = 2 + len(escape_brackets(node.label)) + inside + word
    lines: list[str] = []
    pending: list[tuple[Tree | None, int]] = [(tree, 0)]  # None: a closing bracket
    while pending:
        bracket, depth = pending.pop()
        if bracket is None:
            lines[-1] += ")"
            continue
        column = _INDENT * min(depth, _DEEPEST_INDENT)
        if bracket.is_leaf or not bracket.children or column + lengths[id(bracket)] <= width:
            lines.append(" " * column + str(bracket))
        else:
            lines.append(" " * column + "(" + escape_brackets(bracket.label))
            pending.append((None, depth))
            pending.extend((child, depth + 1) for child in reversed(bracket.children))
    return "\n".join(lines)


def _as_json(tree: Tree, repairs: Repairs | None) -> str:
    parse = {
        "words": tree.words(),
        "tags": tree.tags(),
        # Without the root. `start` and `end` count words from 0; `end` is the word after the last.
        "constituents": [
            {"label": label, "start": start, "end": end} for label, start, end in tree.spans()[1:]
        ],
        "symbols": " ".join(linearise(tree)),
        "tree": str(tree),
    }
    if repairs is not None:
        parse["repairs"] = repairs.as_dict()
    return json.dumps(parse, ensure_ascii=False)
