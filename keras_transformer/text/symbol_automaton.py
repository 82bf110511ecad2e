"""How subtokens spell the symbols of a linearised tree, as tables.

A symbol (`NP`, `/NP`, `-LRB-`) is one subtoken or several, and one subtoken may end a symbol, say
the next one whole and begin a third (` . /`). The automaton reads subtokens and says which
symbols have been said. A symbol is over where the text has a blank after it: one that is written
inside a token, or the one that stands between two tokens of letters (`text/tokenizer.py`). So
`NN` is not over while `NNS` may still become of it.

A state is a place in the trie of all symbols, and whether the place is inside a token. Letters:
Q states (state 0 the start, the last one the dead end), U subtokens that occur in spellings,
L phrase labels. Distances are numbers of subtokens.
"""

from __future__ import annotations

import functools
import logging
from typing import NamedTuple

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.text.reserved_tokens import NUM_RESERVED_IDS
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.text.tokenizer import tokenize
from keras_transformer.text.trees_labels import LabelInventory
from keras_transformer.text.trees_linearise import CLOSING

logger = logging.getLogger(__name__)

NO_SYMBOL, TAG, OPEN, CLOSE = range(4)  # kinds
FAR = 1 << 20  # a distance that no output has
_ROOT = 0


class _State(NamedTuple):
    node: int
    inside: bool  # a token has begun and not ended
    is_word: bool | None  # of that token, or the one before; None at the very start


class _Edge(NamedTuple):
    target: _State
    ends_symbol: bool  # the symbol of the state it leaves
    more_tags: int  # symbols said whole, all of them tags


class SymbolAutomaton:
    """Tables over states and subtokens.

    Symbols whose spelling needs an escape (with `_`, a backslash, or characters that the
    vocabulary does not have) have no place in it; nor have subtokens that say a bracket whole
    between two blanks of their own.

    Args:
        encoder: of the symbols.
        labels: which labels are phrases and which tags; one seen as both is what it was more often.

    Attributes:
        ids: int32 [U], the ids of the subtokens.
        next_state: int32 [Q, U].
        ends_symbol: bool [Q, U], the subtoken ends the symbol that the state holds.
        more_tags: int32 [Q, U], tags it says whole besides.
        kind, label: int32 [Q], the symbol that is over if a blank or the end follows: one of the
            kinds, and the number of its phrase label.
        to_tag, to_open: int32 [Q], distance until a tag, or an opening and its closing, is said.
        to_close: int32 [Q, L], the same for the closing of each phrase.
        tag_ends: bool [Q], a tag that only the end may follow.
        tag_cost: a number of subtokens that is enough to say one more tag, wherever one is.
        close_cost: int32 [L], the same for each closing.

    Raises:
        UserError: the encoder is none of subwords, or cannot spell a single tag.
    """

    def __init__(self, encoder: SubwordTextEncoder, labels: LabelInventory) -> None:
        if not isinstance(encoder, SubwordTextEncoder):
            raise UserError(
                "outputs can be held to a grammar only with a vocabulary of subwords; decode"
                " without --constrain_brackets"
            )
        phrases, tags = _kinds_of(labels)
        self.phrases = phrases
        self._children: list[dict[str, int]] = [{}]
        self._node_kind, self._node_label, self._node_symbol = [NO_SYMBOL], [0], [-1]
        self._node_is_word: list[bool | None] = [None]
        symbols = [(tag, TAG, 0) for tag in tags]
        symbols += [(phrase, OPEN, number) for number, phrase in enumerate(phrases)]
        symbols += [(CLOSING + phrase, CLOSE, number) for number, phrase in enumerate(phrases)]
        self._symbols = [s for s in symbols if _is_spelled_plainly(s[0], encoder.alphabet)]
        if len(self._symbols) < len(symbols):
            logger.warning(
                "%d symbols cannot be spelled without escapes and are never said",
                len(symbols) - len(self._symbols),
            )
        for number, symbol in enumerate(self._symbols):
            self._add(number, *symbol)
        self._find_states(encoder)
        self._measure(max(len(phrases), 1))

    def _add(self, number: int, text: str, kind: int, label: int) -> None:
        node = _ROOT
        for character in text:
            if character not in self._children[node]:
                self._children[node][character] = len(self._children)
                self._children.append({})
                self._node_kind.append(NO_SYMBOL)
                self._node_label.append(0)
                self._node_symbol.append(-1)
                self._node_is_word.append(_is_word(character))
            node = self._children[node][character]
        self._node_kind[node], self._node_label[node] = kind, label
        self._node_symbol[node] = number

    # ---- states and edges -------------------------------------------------------------------

    def _find_states(self, encoder: SubwordTextEncoder) -> None:
        used = {" ", "_"}.union(*(symbol[0] for symbol in self._symbols))
        subtokens = [
            (number, entry)
            for entry, number in encoder.id_of_subtoken.items()
            if number >= NUM_RESERVED_IDS and used.issuperset(entry)
        ]
        found: list[_State] = [_State(_ROOT, False, None)]
        number_of = {found[0]: 0}
        edges: list[tuple[int, int, _Edge]] = []
        columns: dict[int, int] = {}
        for source, state in enumerate(found):  # grows while it is read
            for subtoken, entry in subtokens:
                edge = self._follow(state, entry)
                if edge is None:
                    continue
                if edge.target not in number_of:
                    number_of[edge.target] = len(found)
                    found.append(edge.target)
                edges.append((source, columns.setdefault(subtoken, len(columns)), edge))
        self.ids = np.array(list(columns), np.int32)
        self.dead = len(found)
        shape = (len(found) + 1, len(columns))
        self.next_state = np.full(shape, self.dead, np.int32)
        self.ends_symbol = np.zeros(shape, bool)
        self.more_tags = np.zeros(shape, np.int32)
        for source, column, edge in edges:
            self.next_state[source, column] = number_of[edge.target]
            self.ends_symbol[source, column] = edge.ends_symbol
            self.more_tags[source, column] = edge.more_tags
        self._states = found

    def _follow(self, state: _State, subtoken: str) -> _Edge | None:
        """Where a subtoken leads; None if no symbols are spelled so."""
        node, inside, is_word = state
        untouched, ends_symbol, more_tags = True, False, 0
        for character in subtoken:
            if character == "_":
                if not inside:
                    return None
                inside = False
                continue
            character_is_word = _is_word(character)
            if inside:
                if character_is_word != is_word:
                    return None  # no token has both kinds of characters
            elif is_word is False and not character_is_word:
                return None  # it would have been the same token
            blank = character == " " or (not inside and is_word is True and character_is_word)
            if blank:
                if self._node_kind[node] == NO_SYMBOL:
                    return None
                if untouched and node == state.node:
                    ends_symbol = True
                elif self._node_kind[node] == TAG:
                    more_tags += 1
                else:
                    return None
                node = _ROOT
            if character != " ":
                if character not in self._children[node]:
                    return None
                node = self._children[node][character]
            untouched = False
            inside, is_word = True, character_is_word
        return _Edge(_State(node, inside, is_word), ends_symbol, more_tags)

    # ---- distances --------------------------------------------------------------------------

    def _measure(self, num_labels: int) -> None:
        count = len(self._states) + 1
        self.kind, self.label = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.tag_ends = np.zeros(count, bool)
        said = np.zeros(count, bool)  # a blank can follow
        distance = np.full((count, len(self._symbols)), FAR, np.int32)
        for number, (node, inside, is_word) in enumerate(self._states):
            if self._node_kind[node] == NO_SYMBOL or (inside and is_word):
                continue
            self.kind[number], self.label[number] = self._node_kind[node], self._node_label[node]
            # A blank after `.` is part of the same token, so behind its end only the end comes.
            said[number] = inside or bool(is_word)
            self.tag_ends[number] = not said[number] and self._node_kind[node] == TAG
            if said[number]:
                distance[number, self._node_symbol[node]] = 0
        sources, columns = np.nonzero(self.next_state != self.dead)
        targets = self.next_state[sources, columns]
        ends = self.ends_symbol[sources, columns]
        plain = self.more_tags[sources, columns] == 0
        goes_on = plain & ~ends
        while True:
            before = distance.copy()
            np.minimum.at(distance, sources[goes_on], distance[targets[goes_on]] + 1)
            if (before == distance).all():
                break
        after_blank = np.full_like(distance, FAR)
        np.minimum.at(after_blank, sources[ends & plain], distance[targets[ends & plain]] + 1)
        cost = np.minimum(after_blank[said].max(axis=0, initial=0), FAR)
        kinds = np.array([kind for _, kind, _ in self._symbols])
        numbers = np.array([label for _, _, label in self._symbols])
        if not (cost[kinds == TAG] < FAR).any():
            raise UserError(
                "the target vocabulary cannot spell the tags of the trees, so outputs cannot be"
                " held to their grammar; decode without --constrain_brackets"
            )
        self.tag_cost = int(cost[kinds == TAG].min())
        self.to_tag = distance[:, kinds == TAG].min(axis=1)
        self.close_cost = np.full(num_labels, FAR, np.int32)
        self.to_close = np.full((count, num_labels), FAR, np.int32)
        for column in np.nonzero(kinds == CLOSE)[0]:
            self.close_cost[numbers[column]] = cost[column]
            self.to_close[:, numbers[column]] = distance[:, column]
        opening = kinds == OPEN
        with_closing = distance[:, opening] + self.close_cost[numbers[opening]]
        self.to_open = np.minimum(with_closing.min(axis=1, initial=FAR), FAR)


def _kinds_of(labels: LabelInventory) -> tuple[list[str], list[str]]:
    """Phrase labels and tags, no label in both."""

    def is_phrase(label: str) -> bool:
        return labels.phrases[label] > labels.tags.get(label, 0)

    phrases = [
        label
        for label in sorted(labels.phrases)
        if label
        and not label.startswith(CLOSING)
        and CLOSING + label not in labels.tags
        and is_phrase(label)
    ]
    closings = {CLOSING + label for label in phrases}
    tags = [
        tag
        for tag in sorted(labels.tags)
        if tag and tag not in closings and not (tag in labels.phrases and is_phrase(tag))
    ]
    return phrases, tags


def _is_spelled_plainly(symbol: str, alphabet: frozenset[str]) -> bool:
    return alphabet.issuperset(symbol) and not set("\\_ \t\n\r\f\v") & set(symbol)


@functools.cache
def _is_word(character: str) -> bool:
    # The tokenizer cuts between the two kinds of characters and nowhere else.
    return len(tokenize("a" + character)) == 1
