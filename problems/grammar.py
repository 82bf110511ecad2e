"""Made-up English sentences with their trees, from a grammar written by hand.

No treebank may be handed on, so the embedded parsing sample is drawn from this grammar instead:
its sentences are grammatical nonsense and its trees are made up, in the label set and the style
of the Penn Treebank after cleaning. What it holds: coordination of nouns, verbs and sentences,
prepositional phrases at nouns and at verbs, relative and reduced clauses, complement and
adverbial clauses, infinitives, passives, questions, quotations, parentheses, appositions,
particles, fragments, and the punctuation of all these.

Where a phrase attaches follows from the words (`grammar_lexicon.py`) and from three habits, so
that a tree can be learned from its sentence: what follows a clause belongs to that clause; a
phrase after two coordinated nouns belongs to the second; objects of prepositions are coordinated
only after `between`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from keras_transformer.text.trees import Tree

from . import grammar_lexicon as words
from .grammar_nouns import PLURAL, SINGULAR, leaf
from .grammar_verbs import VerbPhrases


def made_up_trees(seed: int) -> Iterator[Tree]:
    """Trees under TOP without end; the same seed gives the same trees everywhere."""
    grammar = Grammar(random.Random(seed))
    while True:
        yield grammar.sentence()


class Grammar(VerbPhrases):
    """Draws sentences."""

    # ---- sentences --------------------------------------------------------------------------

    def sentence(self) -> Tree:
        """One sentence under TOP, its first word with a capital letter."""
        kind = self._rng.random()
        if kind < 0.52:
            tree = self._statement()
        elif kind < 0.66:
            tree = self._yes_no_question() if self._maybe(0.5) else self._wh_question()
        elif kind < 0.80:
            tree = self._quotation()
        elif kind < 0.88:
            tree = self._two_clauses()
        elif kind < 0.94:
            tree = Tree("S", [self._verb_phrase("base", PLURAL, 1), leaf(".", self._pick("..!"))])
        else:
            tree = Tree(
                "FRAG", [self._noun_phrase(self._number(), 2)[0], leaf(".", self._pick("..!?"))]
            )
        first = next(node for node in tree.leaves() if node.word and node.word[0].isalpha())
        first.word = (first.word or "")[0].upper() + (first.word or "")[1:]
        return Tree("TOP", [tree])

    def _statement(self) -> Tree:
        children: list[Tree] = []
        opening = self._rng.random()
        if opening < 0.08:
            children = [Tree("INTJ", [leaf("UH", self._pick(words.INTERJECTIONS))]), leaf(",", ",")]
        elif opening < 0.16:
            adverb = leaf("RB", self._pick(words.SENTENCE_ADVERBS))
            children = [Tree("ADVP", [adverb]), leaf(",", ",")]
        elif opening < 0.26:
            children = [self._time_phrase(), leaf(",", ",")]
        elif opening < 0.34:
            children = [self._adverbial_clause(), leaf(",", ",")]
        clause = self._clause(2)
        return Tree(
            "S", [*children, *clause.children, leaf(".", "." if self._maybe(0.93) else "!")]
        )

    def _two_clauses(self) -> Tree:
        """`She left , and the dog slept .`; a semicolon joins without a conjunction."""
        if self._maybe(0.25):
            joint = [leaf(":", ";")]
        else:
            joint = [leaf(",", ","), leaf("CC", self._pick(["and", "but", "or"]))]
        return Tree("S", [self._clause(1), *joint, self._clause(1), leaf(".", ".")])

    def _clause(self, depth: int) -> Tree:
        """(S (NP ...) (VP ...)), or `there is`."""
        if self._maybe(0.05):
            number = self._number()
            verb = self._be(number, self._pick(["present", "past"]))
            rest = [self._plain(number, indefinite=True)]
            if self._maybe(0.5):
                rest.append(self._place_phrase())
            return Tree("S", [Tree("NP", [leaf("EX", "there")]), Tree("VP", [verb, *rest])])
        subject, number = self._noun_phrase(self._number(), depth, subject=True)
        return Tree("S", [subject, self._finite_verb_phrase(number, depth)])

    def _adverbial_clause(self) -> Tree:
        conjunction = self._pick(words.SUBORDINATORS)
        tag = "WRB" if conjunction == "when" else "IN"
        if tag == "WRB":
            return Tree("SBAR", [Tree("WHADVP", [leaf(tag, conjunction)]), self._clause(0)])
        return Tree("SBAR", [leaf(tag, conjunction), self._clause(0)])

    # ---- questions --------------------------------------------------------------------------

    def _yes_no_question(self) -> Tree:
        return Tree("SQ", [*self._inverted(1), leaf(".", "?")])

    def _inverted(self, depth: int) -> list[Tree]:
        """Auxiliary, subject and verb phrase of a question, or a form of `be` and an adjective."""
        subject, number = self._noun_phrase(self._number(), depth, subject=True)
        tense = self._pick(["present", "past"])
        kind = self._rng.random()
        if kind < 0.25:
            return [self._be(number, tense), subject, self._adjective_phrase()]
        if kind < 0.5:
            verb_phrase = self._verb_phrase("base", number, depth)
            return [leaf("MD", self._pick(words.MODALS)), subject, verb_phrase]
        return [self._do(number, tense), subject, self._verb_phrase("base", number, depth)]

    def _wh_question(self) -> Tree:
        kind = self._rng.random()
        if kind < 0.3:  # who sleeps ?
            question = Tree("WHNP", [leaf("WP", self._pick(["who", "what"]))])
            rest = Tree("SQ", [self._finite_verb_phrase(SINGULAR, 1)])
        elif kind < 0.6:  # what did she see ?
            if self._maybe(0.5):
                question = Tree("WHNP", [leaf("WP", self._pick(["who", "what"]))])
            else:
                noun = self._pick(words.THINGS + words.PEOPLE).singular
                question = Tree("WHNP", [leaf("WDT", "which"), leaf("NN", noun)])
            subject, number = self._noun_phrase(self._number(), 1, subject=True)
            auxiliary = self._do(number, self._pick(["present", "past"]))
            verb = Tree("VP", [leaf("VB", self._pick(words.TRANSITIVE).base)])
            rest = Tree("SQ", [auxiliary, subject, verb])
        else:  # why did she sleep ?
            question = Tree("WHADVP", [leaf("WRB", self._pick(["why", "when", "where", "how"]))])
            rest = Tree("SQ", self._inverted(1))
        return Tree("SBARQ", [question, rest, leaf(".", "?")])

    # ---- quotations -------------------------------------------------------------------------

    def _quotation(self) -> Tree:
        opening, closing, comma = leaf("``", "``"), leaf("''", "''"), leaf(",", ",")
        said = Tree("VP", [leaf("VBD", self._pick(words.SAYING).past)])
        speaker, _ = self._noun_phrase(SINGULAR, 0, subject=True)
        kind = self._rng.random()
        if kind < 0.35:  # `` ... , '' she said .
            middle = [self._clause(1), comma, closing]
            return Tree("S", [opening, *middle, speaker, said, leaf(".", ".")])
        if kind < 0.65:  # `` ... , '' said the man .
            middle = [self._clause(1), comma, closing]
            return Tree("SINV", [opening, *middle, said, speaker, leaf(".", ".")])
        # she said , `` ... . ''
        said.children += [comma, opening, self._clause(1)]
        return Tree("S", [speaker, said, leaf(".", "."), closing])
