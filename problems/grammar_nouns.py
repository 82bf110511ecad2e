"""Noun phrases of the made-up grammar, and what stands in them: adjectives, places, times."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from keras_transformer.text.trees import Tree

from . import grammar_lexicon as words
from .grammar_lexicon import Noun, Verb

T = TypeVar("T")
leaf = Tree.leaf

SINGULAR, PLURAL = "singular", "plural"


class NounPhrases:
    """Draws noun phrases, and the phrases without a clause that stand beside them.

    `depth` counts how many clauses and modifiers may still be put inside one another; phrases at
    depth 0 are plain, so that every sentence ends.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def _finite_verb_phrase(self, number: str, depth: int) -> Tree:
        """Of a relative clause; `grammar_verbs.py` has it."""
        raise NotImplementedError

    def _verb(self, verb: Verb, form: str, number: str) -> Tree:
        """Of a relative clause; `grammar_verbs.py` has it."""
        raise NotImplementedError

    # ---- chance -----------------------------------------------------------------------------

    def _pick(self, choices: Sequence[T]) -> T:
        # Not `choice`: what `random()` gives for a seed is the same in every Python version.
        return choices[int(self._rng.random() * len(choices))]

    def _maybe(self, probability: float) -> bool:
        return self._rng.random() < probability

    # ---- noun phrases -----------------------------------------------------------------------

    def _number(self) -> str:
        return SINGULAR if self._maybe(0.68) else PLURAL

    def _noun_phrase(
        self, number: str, depth: int, subject: bool = False, indefinite: bool = False
    ) -> tuple[Tree, str]:
        """A noun phrase and the number its verb takes."""
        kind = self._rng.random()
        if subject and kind < 0.22:
            return self._pronoun(number, subject=True), number
        if not indefinite and kind < 0.32:
            return self._name(), SINGULAR
        if depth > 0 and not indefinite and kind < 0.40:
            conjunction = leaf("CC", self._pick(["and", "and", "or"]))
            first = self._plain(self._number())
            if self._maybe(0.2):  # a list
                first = Tree(
                    "NP", [first, leaf(",", ","), self._plain(self._number()), leaf(",", ",")]
                )
                parts = [*first.children, conjunction]
            else:
                parts = [first, conjunction]
            last, last_number = self._modified(self._number(), depth - 1)
            return Tree("NP", [*parts, last]), PLURAL if conjunction.word == "and" else last_number
        if depth > 0 and subject and kind < 0.44:
            return self._apposition(), SINGULAR
        if depth > 0 and kind < 0.72:
            return self._modified(number, depth - 1, indefinite)
        return self._plain(number, indefinite), number

    def _modified(self, number: str, depth: int, indefinite: bool = False) -> tuple[Tree, str]:
        """A noun phrase with something behind its noun."""
        kind = self._rng.random()
        if kind < 0.20:
            head = self._noun(self._pick(words.RELATIONS), number)
            owner = self._plain(self._number())
            return Tree("NP", [head, Tree("PP", [leaf("IN", "of"), owner])]), number
        if kind < 0.30:
            head = self._noun(self._pick(words.BUILDINGS), number, indefinite)
            part = self._noun(self._pick(words.PARTS), self._number(), indefinite=True)
            return Tree("NP", [head, Tree("PP", [leaf("IN", "with"), part])]), number
        if kind < 0.36:
            head = self._noun(self._pick(words.IDEAS), number, indefinite)
            about = Tree("PP", [leaf("IN", "about"), self._plain(self._number())])
            return Tree("NP", [head, about]), number
        if kind < 0.42:
            head = self._noun(self._pick(words.PLACES), number, indefinite)
            both = [self._plain(SINGULAR), leaf("CC", "and"), self._plain(SINGULAR)]
            return Tree("NP", [head, Tree("PP", [leaf("IN", "between"), Tree("NP", both)])]), number
        if kind < 0.55:
            head = self._plain(number, indefinite)
            return Tree("NP", [head, self._place_phrase()]), number
        if kind < 0.61:
            note = self._plain(SINGULAR) if self._maybe(0.5) else self._name()
            brackets = [leaf("-LRB-", "("), note, leaf("-RRB-", ")")]
            return Tree("NP", [self._plain(number, indefinite), Tree("PRN", brackets)]), number
        if kind < 0.70:
            head = self._plain(number, indefinite)
            verb = leaf("VBG", self._pick(words.TRANSITIVE).gerund)
            return Tree("NP", [head, Tree("VP", [verb, self._plain(self._number())])]), number
        return self._with_relative_clause(number, depth, indefinite), number

    def _with_relative_clause(self, number: str, depth: int, indefinite: bool) -> Tree:
        is_person = self._maybe(0.5)
        kinds = words.PEOPLE if is_person else words.THINGS + words.ANIMALS
        head = self._noun(self._pick(kinds), number, indefinite)
        if is_person and self._maybe(0.7):
            pronoun = Tree("WHNP", [leaf("WP", "who")])
        else:
            pronoun = Tree("WHNP", [leaf("WDT", self._pick(["that", "that", "which"]))])
        if self._maybe(0.6):
            clause = Tree("S", [self._finite_verb_phrase(number, min(depth, 1))])
        else:
            subject, subject_number = self._noun_phrase(self._number(), 0, subject=True)
            form = self._pick(["present", "past"])
            verb = self._verb(self._pick(words.TRANSITIVE), form, subject_number)
            clause = Tree("S", [subject, Tree("VP", [verb])])
        return Tree("NP", [head, Tree("SBAR", [pronoun, clause])])

    def _apposition(self) -> Tree:
        """`Anna , the teacher ,` before a verb: the second comma is always there."""
        inner = self._noun(self._pick(words.PEOPLE), SINGULAR)
        return Tree("NP", [self._name(), leaf(",", ","), inner, leaf(",", ",")])

    def _plain(self, number: str, indefinite: bool = False) -> Tree:
        """A noun phrase with nothing behind its noun."""
        kinds = (
            words.PEOPLE,
            words.ANIMALS,
            words.THINGS,
            words.BUILDINGS,
            words.PLACES,
            words.IDEAS,
        )
        return self._noun(self._pick(self._pick(kinds)), number, indefinite)

    def _person(self) -> Tree:
        return (
            self._noun(self._pick(words.PEOPLE), self._number())
            if self._maybe(0.6)
            else self._name()
        )

    def _noun(self, noun: Noun, number: str, indefinite: bool = False) -> Tree:
        """Determiner, adjectives and noun."""
        head = leaf("NN", noun.singular) if number == SINGULAR else leaf("NNS", noun.plural)
        middle: list[Tree] = []
        if self._maybe(0.3):
            if self._maybe(0.12):
                degree = [leaf("RB", self._pick(words.DEGREES[:3]))]
                middle.append(Tree("ADJP", [*degree, leaf("JJ", self._pick(words.ADJECTIVES))]))
            else:
                middle.append(leaf("JJ", self._pick(words.ADJECTIVES)))
                if self._maybe(0.15):
                    middle.append(leaf("JJ", self._pick(words.ADJECTIVES)))
        if number == PLURAL and self._maybe(0.3):
            count = leaf("CD", self._pick(words.NUMBERS))
            if self._maybe(0.2):
                about = leaf("RB", self._pick(["about", "almost", "only"]))
                return Tree("NP", [Tree("QP", [about, count]), *middle, head])
            return Tree("NP", [count, *middle, head])
        return Tree("NP", [*self._determiner(number, indefinite, [*middle, head]), *middle, head])

    def _determiner(self, number: str, indefinite: bool, behind: list[Tree]) -> list[Tree]:
        kind = self._rng.random()
        if indefinite or kind < 0.22:
            if number == PLURAL:
                return [leaf("DT", "some")] if kind < 0.5 else []
            first = next(behind[0].leaves()).word or ""
            vowel = first[0] in "aeiou" or first in ("honest", "hour")
            return [leaf("DT", "an" if vowel else "a")]
        if kind < 0.74:
            return [leaf("DT", "the")]
        if kind < 0.84:
            pronoun = self._pick(["my", "his", "her", "their", "our", "your", "its"])
            return [leaf("PRP$", pronoun)]
        if kind < 0.90:
            owner = self._name() if self._maybe(0.6) else self._owner()
            return [Tree("NP", [*owner.children, leaf("POS", "'s")])]
        if number == SINGULAR:
            return [leaf("DT", self._pick(["this", "that", "every", "no", "each"]))]
        return [leaf("DT", self._pick(["these", "those", "all", "no"]))]

    def _owner(self) -> Tree:
        return Tree("NP", [leaf("DT", "the"), leaf("NN", self._pick(words.PEOPLE).singular)])

    def _name(self) -> Tree:
        kind = self._rng.random()
        if kind < 0.5:
            return Tree("NP", [leaf("NNP", self._pick(words.FIRST_NAMES))])
        first = words.FIRST_NAMES if kind < 0.8 else words.TITLES
        last = leaf("NNP", self._pick(words.LAST_NAMES))
        return Tree("NP", [leaf("NNP", self._pick(first)), last])

    def _pronoun(self, number: str, subject: bool) -> Tree:
        if subject:
            choices = ["he", "she", "it"] if number == SINGULAR else ["they", "we", "I", "you"]
        else:
            choices = ["him", "her", "it"] if number == SINGULAR else ["them", "us", "me", "you"]
        return Tree("NP", [leaf("PRP", self._pick(choices))])

    # ---- adjectives, places, times ----------------------------------------------------------

    def _adjective_phrase(self) -> Tree:
        kind = self._rng.random()
        if kind < 0.2:
            than = Tree("PP", [leaf("IN", "than"), self._plain(self._number())])
            return Tree("ADJP", [leaf("JJR", self._pick(words.COMPARATIVES)), than])
        degree = [leaf("RB", self._pick(words.DEGREES))] if kind < 0.45 else []
        adjective = leaf("JJ", self._pick(words.ADJECTIVES))
        if kind > 0.88:
            second = leaf("JJ", self._pick(words.ADJECTIVES))
            return Tree("ADJP", [adjective, leaf("CC", self._pick(["and", "but"])), second])
        return Tree("ADJP", [*degree, adjective])

    def _place_phrase(self) -> Tree:
        if self._maybe(0.25):
            city = Tree("NP", [leaf("NNP", self._pick(words.CITIES))])
            return Tree("PP", [leaf("IN", self._pick(["in", "near"])), city])
        place = self._pick(words.PLACES + words.BUILDINGS)
        preposition = leaf("IN", self._pick(words.PLACE_PREPOSITIONS))
        return Tree("PP", [preposition, self._noun(place, SINGULAR)])

    def _time_phrase(self) -> Tree:
        kind = self._rng.random()
        if kind < 0.3:
            day = Tree("NP", [leaf("NNP", self._pick(words.WEEKDAYS))])
            return Tree("PP", [leaf("IN", "on"), day])
        if kind < 0.45:
            month = Tree("NP", [leaf("NNP", self._pick(words.MONTHS))])
            return Tree("PP", [leaf("IN", "in"), month])
        if kind < 0.65:
            unit = self._pick(words.UNITS[2:6])
            span = [leaf("CD", self._pick(words.NUMBERS)), leaf("NNS", unit.plural)]
            return Tree("PP", [leaf("IN", "for"), Tree("NP", span)])
        event = Tree("NP", [leaf("DT", "the"), leaf("NN", self._pick(words.TIMES).singular)])
        return Tree("PP", [leaf("IN", self._pick(words.TIME_PREPOSITIONS)), event])
