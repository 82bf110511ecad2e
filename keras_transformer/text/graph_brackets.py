"""Outputs held to the grammar of linearised trees, as TensorFlow operations.

At every step of a search only those subtokens are allowed from which the output can still become
a tree with exactly the sentence's words, within its length limit: every bracket is closed by its
own label, none is empty, there are as many tags as words, and the end comes when all of that is
done. Which words bear punctuation tags stays the model's choice.

The limit is kept by always knowing an ending: so many tags for the words left, then the closings
of the open brackets; it is counted in subtokens, generously, and what would not leave room for it
is not allowed. A limit that leaves no room even for a flat tree is not kept.

Letters: B sentences, b of them still searched, K hypotheses, V vocabulary entries, U subtokens
that spell symbols, D open brackets at most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.text.symbol_automaton import (
    CLOSE,
    FAR,
    NO_SYMBOL,
    OPEN,
    TAG,
    SymbolAutomaton,
)
from keras_transformer.text.trees_labels import LabelInventory

END_OF_SENTENCE = 1
DEEPEST = 128  # D; trees of newspaper text have up to 40 brackets within one another


class BracketGrammar:
    """What linearised trees look like over one vocabulary (`decoding.constraints.OutputGrammar`).

    Args:
        encoder: of the symbols, of subwords.
        labels: which labels are phrases and which tags.
        number_of_words: sentence → how many words its tree must have.

    Raises:
        UserError: see `SymbolAutomaton`.
    """

    def __init__(
        self, encoder: Any, labels: LabelInventory, number_of_words: Callable[[str], int]
    ) -> None:
        self.size_of = number_of_words
        self._automaton = SymbolAutomaton(encoder, labels)

    def follower(self, sizes: Any, limits: Any) -> BracketFollower:
        """Follows the search of one batch.

        Args:
            sizes: int32 [B], words of each sentence.
            limits: int32 [B], the most subtokens of each output, end of sentence included.
        """
        return BracketFollower(self._automaton, sizes, limits)


class _Memory(NamedTuple):
    """What is known of each hypothesis; leading axes b, K."""

    state: Any  # int32, of the automaton
    used: Any  # int32, words that have their tag
    depth: Any  # int32, brackets that are open
    stack: Any  # int32 [b, K, D], their labels, outermost first
    is_empty: Any  # bool, nothing yet in the innermost one


class _Place(NamedTuple):
    """Where in its tree a hypothesis is; of any one shape."""

    left: Any  # int32, words without a tag
    depth: Any
    top: Any  # int32, label of the innermost open bracket
    is_empty: Any
    closing: Any  # int32, subtokens to close all that is open


class BracketFollower:
    """Reads along with a search; see `decoding.constraints.Follower`."""

    def __init__(self, automaton: SymbolAutomaton, sizes: Any, limits: Any) -> None:
        self._automaton = automaton
        self._sizes = tf.cast(sizes, tf.int32)
        self._limits = tf.cast(limits, tf.int32)
        self._num_columns = len(automaton.ids)
        # One column more: whatever else is said leads nowhere.
        self._next_state = tf.constant(_with_column(automaton.next_state, automaton.dead))
        self._ends_symbol = tf.constant(_with_column(automaton.ends_symbol, 0))
        self._more_tags = tf.constant(_with_column(automaton.more_tags, 0))
        self._kind, self._label = tf.constant(automaton.kind), tf.constant(automaton.label)
        self._close_cost = tf.constant(automaton.close_cost)
        flat = automaton.tag_cost * (self._sizes - 1) + int(automaton.to_tag[0]) + 1
        self._has_room = flat <= self._limits

    def start(self, batch: Any, hypotheses: int) -> _Memory:
        """The memory of hypotheses that have said nothing."""
        zeros = tf.zeros([batch, hypotheses], tf.int32)
        stack = tf.zeros([batch, hypotheses, DEEPEST], tf.int32)
        return _Memory(zeros, zeros, zeros, stack, tf.zeros([batch, hypotheses], tf.bool))

    def advance(self, memory: _Memory, last_ids: Any, rows: Any) -> _Memory:
        """The memory after one subtoken more.

        Args:
            memory: before it.
            last_ids: int32 [b, K]; 0, the start symbol, changes nothing.
            rows: int32 [b], places of the sentences in the batch.
        """
        del rows
        beyond = int(self._automaton.ids.max()) + 1
        column = tf.gather(self._column_of(beyond + 1), tf.minimum(last_ids, beyond))
        where = tf.stack([memory.state, column], axis=-1)
        ends = tf.gather_nd(self._ends_symbol, where)
        more_tags = tf.gather_nd(self._more_tags, where)
        kind, label = tf.gather(self._kind, memory.state), tf.gather(self._label, memory.state)
        opens, closes = ends & (kind == OPEN), ends & (kind == CLOSE)
        pushed = tf.range(DEEPEST) == memory.depth[..., tf.newaxis]
        after = _Memory(
            state=tf.gather_nd(self._next_state, where),
            used=memory.used + _number(ends & (kind == TAG)) + more_tags,
            depth=memory.depth + _number(opens) - _number(closes),
            stack=tf.where(pushed & opens[..., tf.newaxis], label[..., tf.newaxis], memory.stack),
            is_empty=tf.where(ends, opens, memory.is_empty) & (more_tags == 0),
        )
        return tf.nest.map_structure(
            lambda new, old: tf.where(_like(last_ids == 0, new), old, new), after, memory
        )

    def allowed(self, memory: _Memory, rows: Any, step: Any, vocab_size: int) -> Any:
        """bool [b, K, V]: subtokens that may be said next.

        Args:
            memory: of what was said.
            rows: int32 [b], places of the sentences in the batch.
            step: int32 scalar, subtokens said.
            vocab_size: V.
        """
        now = self._place(memory, rows)
        kind, label = tf.gather(self._kind, memory.state), tf.gather(self._label, memory.state)
        over, may_be_over = self._after_symbol(now, memory, kind, label)

        target = tf.gather(self._next_state, memory.state)[..., : self._num_columns]
        ends = tf.gather(self._ends_symbol, memory.state)[..., : self._num_columns]
        more_tags = tf.gather(self._more_tags, memory.state)[..., : self._num_columns]
        then = _Place(
            *(
                tf.where(ends, a[..., tf.newaxis], b[..., tf.newaxis])
                for a, b in zip(over, now, strict=True)
            )
        )
        then = then._replace(left=then.left - more_tags, is_empty=then.is_empty & (more_tags == 0))
        is_valid = (~ends | may_be_over[..., tf.newaxis]) & (then.left >= 0)
        limits, has_room = tf.gather(self._limits, rows), tf.gather(self._has_room, rows)
        room = tf.where(has_room, limits - (step + 1), FAR - 1)[:, tf.newaxis, tf.newaxis]
        fits = is_valid & (self._subtokens_to_end(then, target) <= room)

        ends_here = may_be_over & (over.left == 0) & (over.depth == 0)
        column = self._column_of(vocab_size)
        by_id = tf.gather(tf.pad(fits, [[0, 0], [0, 0], [0, 1]]), column, axis=2)
        is_end = tf.range(vocab_size) == END_OF_SENTENCE
        return by_id | (is_end & ends_here[..., tf.newaxis])

    def _place(self, memory: _Memory, rows: Any) -> _Place:
        is_open = tf.range(DEEPEST) < memory.depth[..., tf.newaxis]
        costs = tf.where(is_open, tf.gather(self._close_cost, memory.stack), 0)
        return _Place(
            left=tf.gather(self._sizes, rows)[:, tf.newaxis] - memory.used,
            depth=memory.depth,
            top=_label_at(memory.stack, memory.depth - 1),
            is_empty=memory.is_empty,
            closing=tf.reduce_sum(costs, axis=-1),
        )

    def _after_symbol(
        self, now: _Place, memory: _Memory, kind: Any, label: Any
    ) -> tuple[_Place, Any]:
        """Where a hypothesis is once the symbol its state holds is over, and whether it may be."""
        is_tag, opens, closes = kind == TAG, kind == OPEN, kind == CLOSE
        may_be_over = (
            (kind != NO_SYMBOL)
            & (closes | (now.left >= 1))
            & (~opens | (now.depth < DEEPEST))
            & (~closes | ((now.depth >= 1) & (now.top == label) & ~now.is_empty))
        )
        cost = tf.gather(self._close_cost, label)
        below = _label_at(memory.stack, now.depth - 2)
        over = _Place(
            left=now.left - _number(is_tag),
            depth=now.depth + _number(opens) - _number(closes),
            top=tf.where(opens, label, tf.where(closes, below, now.top)),
            is_empty=opens,
            closing=now.closing + tf.where(opens, cost, 0) - tf.where(closes, cost, 0),
        )
        return over, may_be_over

    def _subtokens_to_end(self, place: _Place, state: Any) -> Any:
        """Subtokens that are enough from here to the end, that included; FAR or more for never."""
        tables = self._automaton
        tags = tables.tag_cost * place.left
        tag_next = tf.where(
            place.left >= 1,
            tf.gather(tables.to_tag, state) + tags - tables.tag_cost + place.closing,
            FAR,
        )
        open_next = tf.where(
            (place.left >= 1) & (place.depth < DEEPEST),
            tf.gather(tables.to_open, state) + tags + place.closing,
            FAR,
        )
        num_labels = tables.to_close.shape[1]
        to_close = tf.gather(tables.to_close.reshape(-1), state * num_labels + place.top)
        close_next = tf.where(
            (place.depth >= 1) & ~place.is_empty,
            to_close + tags + place.closing - tf.gather(self._close_cost, place.top),
            FAR,
        )
        is_last_tag = tf.gather(tables.tag_ends, state) & (place.left == 1) & (place.depth == 0)
        enough = tf.minimum(tf.minimum(tag_next, open_next), close_next)
        return tf.where(is_last_tag, 0, enough) + 1

    def _column_of(self, vocab_size: int) -> Any:
        """int32 [vocab_size]: id → its column; ids that spell no symbol have the last one."""
        ids = tf.constant(self._automaton.ids[:, None])
        none = tf.fill([vocab_size], self._num_columns)
        return tf.tensor_scatter_nd_update(none, ids, tf.range(self._num_columns))


def _with_column(table: np.ndarray, value: int) -> np.ndarray:
    return np.pad(table, [(0, 0), (0, 1)], constant_values=value)


def _label_at(stack: Any, place: Any) -> Any:
    return tf.gather(stack, tf.clip_by_value(place, 0, DEEPEST - 1), batch_dims=2)


def _number(condition: Any) -> Any:
    return tf.cast(condition, tf.int32)


def _like(condition: Any, tensor: Any) -> Any:
    """[b, K] with as many axes as `tensor`."""
    return condition[..., tf.newaxis] if tensor.shape.rank == 3 else condition
