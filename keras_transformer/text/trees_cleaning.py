"""What is taken off treebank trees before a parser learns from them or is scored on them.

The defaults are the field's (Collins 1999, EVALB, Vinyals & Kaiser et al. 2014): no function
tags, no traces, one TOP over every sentence. T2T cleans nothing and expects clean files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from keras_transformer.text.trees import EMPTY_ELEMENT_TAG, ROOT_LABELS, Tree

# NP-SBJ-1, NP=2 and NP-LOC=1 are NP; -LRB- and -NONE- begin with their hyphen and stay whole.
_FUNCTION_TAGS = re.compile(r"(?<=[^-=])[-=].*")


@dataclass(frozen=True)
class TreeCleaning:
    """Which parts of a tree to take off. The defaults make trees as EVALB compares them."""

    # Phrase labels end before their first - or =, as in EVALB; part-of-speech tags stay whole.
    remove_function_tags: bool = True
    # Traces and other -NONE- elements go, and with them the brackets that they leave empty.
    remove_empty_elements: bool = True
    # "add": one wrapper called `root_label` over every tree, in place of TOP, ROOT, S1 or an
    # unlabelled root, also where there was none; "remove": no wrapper, unless it holds several
    # brackets, which would fall apart; "keep": as it was read.
    root: Literal["add", "remove", "keep"] = "add"
    root_label: str = "TOP"


def clean_tree(tree: Tree, cleaning: TreeCleaning | None = None) -> Tree | None:
    """A cleaned copy of `tree`; None if nothing is left of it, as it held empty elements only.

    Inside the tree, a bracket without a label is replaced by what it holds: nothing could be
    said about it in a sequence of labels.
    """
    cleaning = cleaning or TreeCleaning()
    copies = [Tree("")]  # what has been copied so far of each open bracket, below a common parent
    for node, opens in tree.events():
        if node.is_leaf:
            if opens and not (cleaning.remove_empty_elements and node.label == EMPTY_ELEMENT_TAG):
                copies[-1].children.append(Tree.leaf(node.label, node.word or ""))
        elif opens:
            label = node.label
            if cleaning.remove_function_tags:
                label = _FUNCTION_TAGS.sub("", label)
            copies.append(Tree(label))
        else:
            copy = copies.pop()
            if copy.label == "" and node is not tree:
                copies[-1].children.extend(copy.children)
            elif copy.children:
                copies[-1].children.append(copy)
    if not copies[0].children:
        return None
    return _with_root(copies[0].children[0], cleaning)


def _with_root(tree: Tree, cleaning: TreeCleaning) -> Tree:
    if cleaning.root == "keep":
        return tree
    # A wrapper within a wrapper, `(TOP (TOP ...))` or `((TOP ...))`, is one wrapper.
    while is_wrapper(tree) and len(tree.children) == 1 and not tree.children[0].is_leaf:
        tree = tree.children[0]
    if cleaning.root == "remove":
        single = is_wrapper(tree) and len(tree.children) == 1
        return tree.children[0] if single else tree
    return Tree(cleaning.root_label, tree.children if is_wrapper(tree) else [tree])


def is_wrapper(tree: Tree) -> bool:
    """Whether the outermost bracket only wraps the sentence: TOP, ROOT, S1 or no label."""
    return tree.label in ROOT_LABELS and not tree.is_leaf
