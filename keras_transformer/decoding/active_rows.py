"""Sentences leave the batch when they are done.

A search keeps the answers of the whole batch in two buffers and works on the rows that are still
searching. A row's answer is copied out in the step in which it is done, and once a twentieth of
the rows is idle the working tensors are gathered anew, so a batch costs what its sentences cost and
not what its longest one costs times its size.

Shapes: `B` sentences of the batch, `b` rows still in the working tensors, `N` answers kept of
each, `L` the most subtokens any sentence may have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

# Gathering costs a copy of the caches, as new places of the beams do in most steps; an idle row
# costs its share of every later step.
WORTH_GATHERING = 0.95


class Answers(NamedTuple):
    """What the batch has answered so far: ids int32 [B, N, L], scores float32 [B, N]."""

    ids: Any
    scores: Any


def no_answers(batch: Any, answers_each: int, longest: Any) -> Answers:
    """Buffers to write into: ids all 0, scores 0."""
    return Answers(
        tf.zeros(tf.stack([batch, answers_each, longest]), tf.int32),
        tf.zeros(tf.stack([batch, answers_each]), tf.float32),
    )


def record(answers: Answers, rows: Any, ready: Any, ids: Any, scores: Any) -> Answers:
    """Copies the answers of the rows that are `ready`.

    Args:
        answers: the buffers.
        rows: int32 [b], each working row's place in the batch.
        ready: bool [b].
        ids: int32 [b, N, T], T at most L.
        scores: float32 [b, N].
    """

    def write() -> Answers:
        which = tf.where(ready)[:, 0]
        places = tf.gather(rows, which)[:, tf.newaxis]
        room = tf.shape(answers.ids)[2] - tf.shape(ids)[2]
        padded = tf.pad(tf.gather(ids, which), [[0, 0], [0, 0], [0, room]])
        return Answers(
            tf.tensor_scatter_nd_update(answers.ids, places, padded),
            tf.tensor_scatter_nd_update(answers.scores, places, tf.gather(scores, which)),
        )

    return tf.cond(tf.reduce_any(ready), write, lambda: answers)


def drop_done(done: Any, tensors: Any) -> tuple[Any, Any]:
    """Leaves the done rows behind where that pays.

    Args:
        done: bool [b].
        tensors: a structure of tensors with leading axis b.

    Returns:
        done and tensors, gathered or as they came.
    """
    size = tf.size(done)
    active = tf.math.count_nonzero(~done, dtype=tf.int32)
    pays = (active > 0) & (
        tf.cast(active, tf.float32) <= WORTH_GATHERING * tf.cast(size, tf.float32)
    )

    def gather() -> tuple[Any, Any]:
        keep = tf.where(~done)[:, 0]
        return tf.nest.map_structure(lambda tensor: tf.gather(tensor, keep), (done, tensors))

    return tf.cond(pays, gather, lambda: (done, tensors))


def growing_shapes(state: Any) -> Any:
    """Shape invariants for a loop over `state`.

    Rows leave, so every leading axis is open. Axes that have length 0 before the loop are those
    which grow (ids so far, keys and values so far); they are open too.

    Args:
        state: a structure of tensors; scalars stay as they are.
    """

    def invariant(tensor: Any) -> Any:
        shape = tensor.shape
        if shape.rank is None or shape.rank == 0:
            return shape
        return tf.TensorShape([None] + [None if size == 0 else size for size in shape[1:]])

    return tf.nest.map_structure(invariant, state)


def start_cache(cache: Any, batch: Any, hypotheses: int) -> Any:
    """Gives the empty self-attention caches their axis of K hypotheses.

    Args:
        cache: {"memory": structure with leading axis B, "self": structure of tensors
            [B, any, …] which hold nothing yet: one of their axes has length 0}.
        batch: B.
        hypotheses: K.
    """

    def spread(tensor: Any) -> Any:
        tail = tensor.shape[2:]
        empty = tf.zeros(tf.concat([[batch, hypotheses], tf.shape(tensor)[2:]], 0), tensor.dtype)
        return tf.ensure_shape(
            empty, tf.TensorShape([tensor.shape[0], hypotheses]).concatenate(tail)
        )

    return {**cache, "self": tf.nest.map_structure(spread, cache["self"])}
