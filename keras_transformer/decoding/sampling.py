"""Greedy decoding and sampling: one subtoken at a time, none taken back.

Source: T2T 1.15.7, `models/transformer.py`, `fast_decode` with beam size 1. The score is the sum
of log-probabilities up to and including the end of sentence, without a length penalty. Behind the
end of sentence T2T goes on until the whole batch has ended and cuts later; here a sentence leaves
the batch, so what follows its end is 0.

Shapes: `B` sentences, `b` still decoded, `K` samples of each, `V` vocabulary entries, `T`
subtokens said so far, `L` the most subtokens allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.decoding.active_rows import (
    Answers,
    drop_done,
    growing_shapes,
    no_answers,
    record,
    start_cache,
)
from keras_transformer.decoding.constraints import (
    BANNED,
    END_OF_SENTENCE,
    Constraint,
    Follower,
    follow,
    start_memory,
)
from keras_transformer.decoding.top_candidates import log_normaliser

StepFunction = Callable[[Any, Any, Any], tuple[Any, Any]]


class _Rows(NamedTuple):
    """Everything that leaves the batch with its sentence; leading axis b."""

    place: Any  # int32 [b], in the batch
    limit: Any  # int32 [b], subtokens
    last_ids: Any  # int32 [b, K], said last; 0 at the start
    ids: Any  # int32 [b, K, T]
    log_probs: Any  # float32 [b, K]
    ended: Any  # bool [b, K]
    cache: Any
    memory: Any  # the follower's; leading axes b, K


def greedy(
    step_fn: StepFunction,
    cache: Any,
    batch: Any,
    decode_length: Any,
    constrain: Constraint | None = None,
    follower: Follower | None = None,
) -> tuple[Any, Any]:
    """The likeliest subtoken at each step; ties to the lower id.

    Args and returns as `beam_search` with K = N = 1: ids int32 [B, 1, L'], scores float32 [B, 1].
    """
    return _one_by_one(
        lambda logits, rows, step: tf.argmax(logits, axis=-1, output_type=tf.int32),
        step_fn,
        cache,
        batch,
        1,
        decode_length,
        constrain,
        follower,
    )


def sample(
    step_fn: StepFunction,
    cache: Any,
    batch: Any,
    decode_length: Any,
    seeds: Any,
    samples: int = 1,
    temperature: Any = 1.0,
    keep_top_k: int = 0,
    constrain: Constraint | None = None,
    follower: Follower | None = None,
) -> tuple[Any, Any]:
    """Random subtokens from the model's distribution; the same seeds give the same outputs.

    A sentence's random numbers come from its own seed alone, so its samples do not depend on the
    batch it stands in.

    Args:
        step_fn, cache, batch, decode_length, constrain, follower: as in `beam_search`.
        seeds: int32 [B, 2], a seed for each sentence.
        samples: K, independent outputs of each sentence.
        temperature: logits are divided by it; above 0, below 1 is nearer to greedy.
        keep_top_k: only so many likeliest subtokens may be drawn; 0 means all.

    Returns:
        ids int32 [B, K, L'] in the order drawn; scores float32 [B, K], the log-probability of the
        output under the model itself (temperature 1, nothing cut off).
    """

    def choose(logits: Any, rows: _Rows, step: Any) -> Any:
        # One number per sentence and sample, from the sentence's seed and the step.
        uniform = tf.map_fn(
            lambda seed: tf.random.stateless_uniform([samples], tf.random.fold_in(seed, step)),
            tf.gather(seeds, rows.place),
            fn_output_signature=tf.TensorSpec([samples], tf.float32),
        )
        return _draw(logits / temperature, uniform, keep_top_k)

    return _one_by_one(choose, step_fn, cache, batch, samples, decode_length, constrain, follower)


def _draw(logits: Any, uniform: Any, keep_top_k: int) -> Any:
    """Inverts the cumulative distribution: int32 [b, K] from logits [b, K, V] and [b, K]."""
    if keep_top_k > 0:
        kept, ids = tf.math.top_k(logits, tf.minimum(keep_top_k, tf.shape(logits)[-1]))
    else:
        kept, ids = logits, None
    heights = tf.cumsum(tf.nn.softmax(kept), axis=-1)
    # The last height may fall short of 1 by rounding.
    level = uniform[:, :, tf.newaxis] * heights[:, :, -1:]
    drawn = tf.reduce_sum(tf.cast(heights <= level, tf.int32), axis=-1)
    drawn = tf.minimum(drawn, tf.shape(heights)[-1] - 1)
    return drawn if ids is None else tf.gather(ids, drawn, batch_dims=2)


def _one_by_one(
    choose: Callable[[Any, _Rows, Any], Any],
    step_fn: StepFunction,
    cache: Any,
    batch: Any,
    hypotheses: int,
    decode_length: Any,
    constrain: Constraint | None,
    follower: Follower | None,
) -> tuple[Any, Any]:
    """The loop of greedy decoding and sampling; `choose(logits, rows, step)` gives ids [b, K]."""
    batch = tf.convert_to_tensor(batch, tf.int32)
    limits = tf.broadcast_to(tf.cast(decode_length, tf.int32), [batch])
    longest = tf.reduce_max(tf.concat([limits, [0]], axis=0))
    rows = _Rows(
        place=tf.range(batch),
        limit=limits,
        last_ids=tf.zeros([batch, hypotheses], tf.int32),
        ids=tf.zeros([batch, hypotheses, 0], tf.int32),
        log_probs=tf.zeros([batch, hypotheses]),
        ended=tf.zeros([batch, hypotheses], tf.bool),
        cache=start_cache(cache, batch, hypotheses),
        memory=start_memory(follower, batch, hypotheses),
    )

    def going_on(step: Any, done: Any, rows: _Rows, answers: Answers) -> Any:
        return tf.reduce_any(~done)

    def take_step(step: Any, done: Any, rows: _Rows, answers: Answers) -> Any:
        logits, step_cache = step_fn(rows.last_ids, step, rows.cache)
        logits = tf.cast(logits, tf.float32)
        log_norm = log_normaliser(logits)
        free = logits
        if constrain is not None:
            free = constrain(logits, rows.ids, rows.place, step)
        free, memory = follow(follower, free, rows.memory, rows.last_ids, rows.place, step)
        chosen = choose(free, rows, step)
        gained = tf.gather(free, chosen, batch_dims=2) - log_norm
        said = tf.where(rows.ended, 0, chosen)
        rows = rows._replace(
            last_ids=said,
            ids=tf.concat([rows.ids, said[:, :, tf.newaxis]], axis=2),
            log_probs=rows.log_probs + tf.where(rows.ended, 0.0, tf.maximum(gained, BANNED)),
            ended=rows.ended | (chosen == END_OF_SENTENCE),
            cache=step_cache,
            memory=memory,
        )
        step += 1
        now_done = tf.reduce_all(rows.ended, axis=1) | (step >= rows.limit)
        answers = record(answers, rows.place, now_done & ~done, rows.ids, rows.log_probs)
        done, rows = drop_done(done | now_done, rows)
        return step, done, rows, answers

    state = (tf.constant(0), limits <= 0, rows, no_answers(batch, hypotheses, longest))
    steps, _, _, answers = tf.while_loop(
        going_on, take_step, state, shape_invariants=growing_shapes(state)
    )
    return answers.ids[:, :, :steps], answers.scores
