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
from collections.abc import Iterator, Sequence
from typing import TypeVar

from keras_transformer.text.trees import Tree

from . import grammar_lexicon as words
from .grammar_lexicon import Noun, Verb

T = TypeVar("T")
leaf = Tree.leaf

SINGULAR, PLURAL = "singular", "plural"


def made_up_trees(seed: int) -> Iterator[Tree]:
    """Trees under TOP without end; the same seed gives the same trees everywhere."""
    grammar = Grammar(random.Random(seed))
    while True:
        yield grammar.sentence()


class Grammar:
    """Draws sentences.

    `depth` counts how many clauses and modifiers may still be put inside one another; phrases at
    depth 0 are plain, so that every sentence ends.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    # ---- chance -----------------------------------------------------------------------------

    def _pick(self, choices: Sequence[T]) -> T:
        # Not `choice`: what `random()` gives for a seed is the same in every Python version.
        return choices[int(self._rng.random() * len(choices))]

    def _maybe(self, probability: float) -> bool:
        return self._rng.random() < probability

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

    # ---- verb phrases -----------------------------------------------------------------------

    def _finite_verb_phrase(self, number: str, depth: int) -> Tree:
        """A verb phrase with tense: one verb, auxiliaries before it, or two coordinated ones."""
        kind = self._rng.random()
        tense = self._pick(["present", "past", "past"])
        if kind < 0.46:
            return self._verb_phrase(tense, number, depth)
        if kind < 0.56:
            joint = leaf("CC", self._pick(["and", "or", "but"]))
            first = self._verb_phrase(tense, number, 0, closed=True)
            return Tree("VP", [first, joint, self._verb_phrase(tense, number, max(depth - 1, 0))])
        if kind < 0.68:
            modal = [leaf("MD", self._pick(words.MODALS)), *self._negation()]
            return Tree("VP", [*modal, self._verb_phrase("base", number, depth)])
        if kind < 0.74:
            negated = [self._do(number, tense), leaf("RB", self._pick(["not", "n't"]))]
            return Tree("VP", [*negated, self._verb_phrase("base", number, depth)])
        if kind < 0.80:
            have = self._have(number, tense)
            return Tree(
                "VP", [have, *self._negation(), self._verb_phrase("participle", number, depth)]
            )
        if kind < 0.86:
            be = self._be(number, tense)
            return Tree("VP", [be, self._verb_phrase("gerund", number, depth)])
        if kind < 0.92:
            return Tree("VP", [self._be(number, tense), self._passive(depth)])
        return Tree("VP", [self._be(number, tense), *self._negation(), self._predicate(number)])

    def _negation(self) -> list[Tree]:
        return [leaf("RB", "not")] if self._maybe(0.2) else []

    def _predicate(self, number: str) -> Tree:
        if self._maybe(0.7):
            return self._adjective_phrase()
        return self._noun_phrase(number, 1, indefinite=True)[0]

    def _passive(self, depth: int) -> Tree:
        children = [leaf("VBN", self._pick(words.TRANSITIVE).participle)]
        if self._maybe(0.6):
            agent = self._noun_phrase(self._number(), max(depth - 1, 0))[0]
            children.append(Tree("PP", [leaf("IN", "by"), agent]))
        elif self._maybe(0.5):
            children.append(self._time_phrase())
        return Tree("VP", children)

    def _verb_phrase(self, form: str, number: str, depth: int, closed: bool = False) -> Tree:
        """(VP verb complements adjuncts); `closed` keeps clauses out, so that more may follow."""
        kind = self._rng.random()
        inner = max(depth - 1, 0)
        before: list[Tree] = []
        if form in ("present", "past") and self._maybe(0.08):
            before = [Tree("ADVP", [leaf("RB", self._pick(words.FREQUENCIES))])]
        if depth > 0 and not closed and kind < 0.18:
            return Tree("VP", [*before, *self._clausal(form, number, inner)])
        if kind < 0.40:
            rest = [self._verb(self._pick(words.INTRANSITIVE), form, number)]
            if self._maybe(0.4):
                rest.append(self._place_phrase())
        elif kind < 0.70:
            verb = self._pick(words.TRANSITIVE)
            rest = [self._verb(verb, form, number), self._object(0 if closed else depth)]
            if self._maybe(0.15):
                tool = self._noun(self._pick(words.TOOLS), self._number())
                rest.append(Tree("PP", [leaf("IN", "with"), tool]))
        elif kind < 0.80:
            verb = self._pick(words.PLACING)
            thing = self._noun(self._pick(words.THINGS), self._number())
            rest = [self._verb(verb, form, number), thing, self._place_phrase()]
        elif kind < 0.92:
            rest = self._giving(form, number)
        else:
            verb, particle = self._pick(words.PARTICLE_VERBS)
            thing = self._noun(self._pick(words.THINGS), self._number())
            rest = [self._verb(verb, form, number), Tree("PRT", [leaf("RP", particle)]), thing]
        if not _ends_in_a_clause(rest[-1]):
            rest += self._adjuncts(closed or depth == 0)
        return Tree("VP", [*before, *rest])

    def _clausal(self, form: str, number: str, depth: int) -> list[Tree]:
        """A verb with a clause: `says that ...`, `wants to ...`."""
        if self._maybe(0.5):
            verb = self._verb(self._pick(words.WANTING), form, number)
            infinitive = Tree("VP", [leaf("TO", "to"), self._verb_phrase("base", number, depth)])
            return [verb, Tree("S", [infinitive])]
        verb = self._verb(self._pick(words.SAYING), form, number)
        that = [leaf("IN", "that")] if self._maybe(0.75) else []
        return [verb, Tree("SBAR", [*that, self._clause(depth)])]

    def _giving(self, form: str, number: str) -> list[Tree]:
        verb = self._verb(self._pick(words.GIVING), form, number)
        thing = self._noun(self._pick(words.THINGS), self._number())
        person = (
            self._person() if self._maybe(0.5) else self._pronoun(self._number(), subject=False)
        )
        if self._maybe(0.5):
            return [verb, person, thing]
        return [verb, thing, Tree("PP", [leaf("TO", "to"), person])]

    def _object(self, depth: int) -> Tree:
        if self._maybe(0.12):
            return self._pronoun(self._number(), subject=False)
        return self._noun_phrase(self._number(), depth)[0]

    def _adjuncts(self, few: bool) -> list[Tree]:
        """Manner, then time, then a clause; each of them belongs to the verb."""
        found = []
        if self._maybe(0.12):
            manner = leaf("RB", self._pick(words.MANNERS))
            degree = [leaf("RB", self._pick(words.DEGREES))] if self._maybe(0.2) else []
            found.append(Tree("ADVP", [*degree, manner]))
        if self._maybe(0.12):
            found.append(self._time_phrase())
        elif self._maybe(0.06):
            found.append(Tree("ADVP", [leaf("RB", self._pick(words.TIME_ADVERBS))]))
        if not few and self._maybe(0.08):
            found.append(self._adverbial_clause())
        return found

    def _verb(self, verb: Verb, form: str, number: str) -> Tree:
        if form == "present":
            return leaf("VBZ", verb.present) if number == SINGULAR else leaf("VBP", verb.base)
        tag = {"base": "VB", "past": "VBD", "gerund": "VBG", "participle": "VBN"}[form]
        return leaf(tag, getattr(verb, form))

    def _be(self, number: str, tense: str) -> Tree:
        if tense == "past":
            return leaf("VBD", "was" if number == SINGULAR else "were")
        return leaf("VBZ", "is") if number == SINGULAR else leaf("VBP", "are")

    def _do(self, number: str, tense: str) -> Tree:
        if tense == "past":
            return leaf("VBD", "did")
        return leaf("VBZ", "does") if number == SINGULAR else leaf("VBP", "do")

    def _have(self, number: str, tense: str) -> Tree:
        if tense == "past":
            return leaf("VBD", "had")
        return leaf("VBZ", "has") if number == SINGULAR else leaf("VBP", "have")

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


def _ends_in_a_clause(tree: Tree) -> bool:
    """Whether a verb phrase ends where the tree ends, so that what follows would belong to it."""
    while tree.children:
        if tree.label == "VP":
            return True
        tree = tree.children[-1]
    return False
