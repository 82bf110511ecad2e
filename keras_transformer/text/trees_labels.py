"""Which symbols are phrase labels and which are part-of-speech tags, learned from training trees.

A linearised tree does not say which of `NP` and `NN` opens a bracket; the inventory does. It is
stored beside the vocabulary.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from keras_transformer.errors import UserError
from keras_transformer.text.trees import EMPTY_ELEMENT_TAG, ROOT_LABELS, UNTAGGED, Tree

# EVALB takes words under these tags out before it compares, and gives a sentence up if the two
# trees then differ in words (COLLINS.prm).
PUNCTUATION_TAGS = frozenset({",", ":", "``", "''", "."})


@dataclass
class LabelInventory:
    """How often each label was seen over a phrase and over a word.

    Attributes:
        phrases: phrase label -> brackets. The outermost bracket, which T2T's symbols leave out,
            is not counted.
        tags: part-of-speech tag -> words.
        punctuation: for every word seen under one of `PUNCTUATION_TAGS`, all its tags -> words.
    """

    phrases: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    punctuation: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def learn(cls, trees: Iterable[Tree]) -> LabelInventory:
        """The inventory of training trees, cleaned and with their wrapper."""
        phrases: Counter[str] = Counter()
        word_tags: dict[str, Counter[str]] = {}
        for tree in trees:
            for node in tree.nodes():
                if node.word is not None:
                    word_tags.setdefault(node.word, Counter())[node.label] += 1
                elif node is not tree:
                    phrases[node.label] += 1
        tags: Counter[str] = Counter()
        for counts in word_tags.values():
            tags.update(counts)
        punctuation = {
            word: counts
            for word, counts in word_tags.items()
            if not PUNCTUATION_TAGS.isdisjoint(counts)
        }
        return cls(phrases, tags, punctuation)

    def tag_for(self, word: str) -> str:
        """The tag of a word for which the model gave none.

        Its own tag for punctuation, which EVALB takes out by its tag; else the most frequent tag
        of the training trees (the first in the alphabet, if several are).
        """
        if word in self.punctuation:
            return _most_frequent(self.punctuation[word])
        words_only = Counter({t: n for t, n in self.tags.items() if t not in PUNCTUATION_TAGS})
        return _most_frequent(words_only) if words_only else UNTAGGED

    def believes(self, tag: str, word: str) -> bool:
        """False if `tag` would turn a word into punctuation, or punctuation into a word.

        A word seen as punctuation may bear any tag it was seen with; any other word may bear any
        tag but those of punctuation. No word may bear a tag with which EVALB takes it for a trace
        or a root, unless training trees had that tag.
        """
        if tag not in self.tags and (tag in ROOT_LABELS or tag == EMPTY_ELEMENT_TAG):
            return False
        if word in self.punctuation:
            return tag in self.punctuation[word]
        return tag not in PUNCTUATION_TAGS

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes JSON; the file appears whole or not at all."""
        content = {
            "phrases": dict(sorted(self.phrases.items())),
            "tags": dict(sorted(self.tags.items())),
            "punctuation": {
                word: dict(sorted(tags.items())) for word, tags in sorted(self.punctuation.items())
            },
        }
        part = f"{os.fspath(path)}.{os.getpid()}.part"
        with open(part, "w", encoding="utf-8") as stream:
            json.dump(content, stream, ensure_ascii=False, indent=1)
            stream.write("\n")
        os.replace(part, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LabelInventory:
        """Reads what `save` wrote.

        Raises:
            UserError: no such file, or not an inventory.
        """
        try:
            with open(path, encoding="utf-8") as stream:
                content = json.load(stream)
            return cls(
                Counter(content["phrases"]),
                Counter(content["tags"]),
                {word: Counter(tags) for word, tags in content["punctuation"].items()},
            )
        except OSError as error:
            raise UserError(
                f"{os.fspath(path)}: cannot be read ({error.strerror}): it is made from "
                "the training trees together with the vocabulary; make the data again"
            ) from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(
                f"{os.fspath(path)}: not a label inventory ({error}): make the data again"
            ) from None


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda label: (-counts[label], label))


def _penn_treebank() -> LabelInventory:
    """The label set of the LDC's Penn Treebank 3 (Marcus et al. 1993; bracketing guidelines)."""
    phrases = (
        "ADJP ADVP CONJP FRAG INTJ LST NAC NML NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV SQ UCP VP "
        "WHADJP WHADVP WHNP WHPP X"
    )
    tags = (
        "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNP NNPS NNS PDT POS PRP PRP$ RB RBR RBS RP SYM TO "
        "UH VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB # $ '' -LRB- -RRB- , . : `` HYPH AFX ADD NFP GW"
    )
    marks = {
        ",": [","],
        ".": [".", "?", "!"],
        ":": [":", ";", "--", "...", "-", "\u2013", "\u2014"],
        "``": ["``", "`", "\u201c"],
        "''": ["''", "\u201d"],
    }
    # '' and - have uses other than as punctuation; '"' opens and closes.
    punctuation = {mark: Counter({tag: 2}) for tag, of_tag in marks.items() for mark in of_tag}
    punctuation["-"]["HYPH"] = 1
    punctuation['"'] = Counter({"''": 2, "``": 1})
    punctuation["'"] = Counter({"''": 2, "``": 1, "POS": 1})
    inventory = LabelInventory(
        Counter(dict.fromkeys(phrases.split(), 1)),
        Counter(dict.fromkeys(tags.split(), 1)),
        punctuation,
    )
    inventory.tags["NN"] = 2  # the most frequent tag of the treebank
    return inventory


# For models whose training trees are not at hand, such as those trained by T2T.
PENN_TREEBANK_LABELS = _penn_treebank()
