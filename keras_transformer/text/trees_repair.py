"""A tree over the input's own words from whatever symbols a model puts out.

The k-th tag takes the k-th word. Whatever the symbols are, the result is a tree with exactly the
words of the sentence, so that no sentence is lost to scoring: EVALB leaves a sentence out whose
words do not agree, which flatters. The rules, each counted in `Repairs`:

1. A tag after the last word is dropped.
2. `/X` where another bracket is innermost closes every bracket up to the innermost X; without an
   open X it is dropped.
3. Brackets open at the end are closed there.
4. A bracket that holds no word is deleted.
5. Words left over are put at the end of the sentence's bracket (the only phrase under the root,
   else the root), with the inventory's tag for them.
6. Without a single tag, all words stand side by side under the root: a flat tree.
7. A label the training trees do not have opens a bracket if it is closed later, else it is a tag.
8. A tag that turns a word into punctuation, punctuation into a word, or a word into nothing
   (-NONE-, TOP) is replaced by the inventory's tag for the word: EVALB takes such words out by
   their tag and would give the sentence up.

Vinyals & Kaiser et al. 2014 add brackets for the 1.5 % of their outputs that are malformed and
say no more; rules 2 to 6 are how we do it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from keras_transformer.text.trees import Tree, escape_brackets, unescape_brackets
from keras_transformer.text.trees_labels import PENN_TREEBANK_LABELS, LabelInventory
from keras_transformer.text.trees_linearise import CLOSING


@dataclass(frozen=True)
class Repairs:
    """What was mended, for one sentence or, added up, for many."""

    sentences: int = 0
    malformed_sentences: int = 0  # those whose brackets or number of tags were wrong: rules 1 to 6
    extra_tags: int = 0  # rule 1
    closed_early: int = 0  # rule 2: brackets closed by the closing symbol of an outer one
    stray_closings: int = 0  # rule 2: closing symbols dropped
    unclosed_brackets: int = 0  # rule 3
    empty_brackets: int = 0  # rule 4
    missing_tags: int = 0  # rule 5, words
    flat_trees: int = 0  # rule 6
    unknown_labels: int = 0  # rule 7
    replaced_tags: int = 0  # rule 8

    def __add__(self, other: Repairs) -> Repairs:
        return Repairs(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


_BRACKETING = (
    "extra_tags",
    "closed_early",
    "stray_closings",
    "unclosed_brackets",
    "empty_brackets",
    "missing_tags",
    "flat_trees",
)


def tree_from_symbols(
    symbols: Sequence[str],
    words: Sequence[str],
    labels: LabelInventory | None = None,
    root_label: str = "TOP",
) -> tuple[Tree, Repairs]:
    """The tree over `words` that `symbols` stand for, and what had to be mended.

    Args:
        symbols: a linearised tree as decoded, whole or not.
        words: the sentence, as `split_words` gives it; plain or with -LRB- and so on.
        labels: which labels are phrases and which tags, the Penn Treebank's by default.
        root_label: the bracket around everything, `TOP` as EVALB expects it.

    Returns:
        A tree whose words are `words`, plain. Without words it has none, and is written `(())`.
    """
    building = _Building(words, labels or PENN_TREEBANK_LABELS, root_label)
    last_closing = {symbol: index for index, symbol in enumerate(symbols)}
    for index, symbol in enumerate(symbols):
        kind = _kind(symbol, building.labels, last_closing.get(CLOSING + symbol, -1) > index)
        if kind == "closing":
            building.close(symbol[len(CLOSING) :])
        elif kind == "tag":
            building.tag(symbol)
        else:
            building.open(symbol)
    return building.finish()


def _kind(symbol: str, labels: LabelInventory, closed_later: bool) -> str:
    is_phrase, is_tag = symbol in labels.phrases, symbol in labels.tags
    if symbol.startswith(CLOSING) and not is_tag:
        return "closing"
    if is_phrase != is_tag:
        return "phrase" if is_phrase else "tag"
    return "phrase" if closed_later else "tag"  # seen as both, or as neither


class _Building:
    """A tree in the making: the open brackets, the words still to come, the counts so far."""

    def __init__(self, words: Sequence[str], labels: LabelInventory, root_label: str) -> None:
        self.labels = labels
        self._words = [unescape_brackets(word) for word in words]
        self._used = 0
        self._open = [Tree(root_label)]
        self._counts = dict.fromkeys((f.name for f in fields(Repairs)), 0)

    def tag(self, tag: str) -> None:
        if self._used == len(self._words):
            self._counts["extra_tags"] += 1
            return
        word = self._words[self._used]
        if tag not in self.labels.tags:
            self._counts["unknown_labels"] += 1
        if not self.labels.believes(tag, word):
            tag = self.labels.tag_for(word)
            self._counts["replaced_tags"] += 1
        self._add_word(escape_brackets(tag))

    def _add_word(self, tag: str) -> None:
        self._open[-1].children.append(Tree.leaf(tag, self._words[self._used]))
        self._used += 1

    def open(self, label: str) -> None:
        if label not in self.labels.phrases:
            self._counts["unknown_labels"] += 1
        self._open.append(Tree(escape_brackets(label)))

    def close(self, label: str) -> None:
        label = escape_brackets(label)
        if all(bracket.label != label for bracket in self._open[1:]):
            self._counts["stray_closings"] += 1
            return
        while self._open[-1].label != label:
            self._close_innermost()
            self._counts["closed_early"] += 1
        self._close_innermost()

    def _close_innermost(self) -> None:
        bracket = self._open.pop()
        if bracket.children:
            self._open[-1].children.append(bracket)
        else:
            self._counts["empty_brackets"] += 1

    def finish(self) -> tuple[Tree, Repairs]:
        while len(self._open) > 1:
            self._close_innermost()
            self._counts["unclosed_brackets"] += 1
        root = self._open[0]
        missing = len(self._words) - self._used
        if missing and not self._used:
            self._counts["flat_trees"] = 1
        else:
            self._counts["missing_tags"] = missing
        if len(root.children) == 1 and not root.children[0].is_leaf:
            self._open.append(root.children[0])
        for word in self._words[self._used :]:
            self._add_word(self.labels.tag_for(word))
        self._counts["sentences"] = 1
        self._counts["malformed_sentences"] = int(any(self._counts[kind] for kind in _BRACKETING))
        return root, Repairs(**self._counts)
