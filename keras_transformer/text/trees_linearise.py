"""A tree as the two sequences that a model learns from: words in, symbols out.

T2T's form (`text_problems` of 1.15, `wsj_parsing` of 1.0): a phrase is its label and, where it
ends, `/` and its label; a word is its part-of-speech tag alone; the outermost bracket is left
out, whatever it is called. `(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .)))` becomes

    The cat sat .
    S NP DT NN /NP VP VBD /VP . /S

T2T loses an S that no TOP stands over. `clean_tree` puts a TOP over every tree, so that only a
wrapper is ever left out.
"""

from __future__ import annotations

from keras_transformer.text.trees import Tree, escape_brackets

CLOSING = "/"  # before the label of a phrase that ends


def linearise(tree: Tree) -> list[str]:
    """T2T's symbols for everything inside the outermost bracket.

    A tree that is one leaf has no bracket to leave out and gives its tag.
    """
    if tree.is_leaf:
        return [tree.label]
    symbols = []
    for node, opens in tree.events():
        if opens:
            symbols.append(node.label)
        elif not node.is_leaf:
            symbols.append(CLOSING + node.label)
    return symbols[1:-1]


def source_text(words: list[str]) -> str:
    """Words as the model reads them: with one blank between, brackets written -LRB- and so on."""
    return " ".join(map(escape_brackets, words))


def linearised_texts(tree: Tree) -> tuple[str, str]:
    """(words, symbols), each with one blank between: T2T's `inputs` and `targets`."""
    return source_text(tree.words()), " ".join(linearise(tree))
