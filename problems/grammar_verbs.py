"""Verb phrases of the made-up grammar: complements, adjuncts, auxiliaries, coordination."""

from __future__ import annotations

from keras_transformer.text.trees import Tree

from . import grammar_lexicon as words
from .grammar_lexicon import Verb
from .grammar_nouns import SINGULAR, NounPhrases, leaf


class VerbPhrases(NounPhrases):
    """Draws verb phrases; `depth` as in `NounPhrases`."""

    def _clause(self, depth: int) -> Tree:
        """Of a complement; `grammar.py` has it."""
        raise NotImplementedError

    def _adverbial_clause(self) -> Tree:
        """Of an adjunct; `grammar.py` has it."""
        raise NotImplementedError

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


def _ends_in_a_clause(tree: Tree) -> bool:
    """Whether a verb phrase ends where the tree ends, so that what follows would belong to it."""
    while tree.children:
        if tree.label == "VP":
            return True
        tree = tree.children[-1]
    return False
