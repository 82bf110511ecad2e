"""Beam search over a step function, exactly as Tensor2Tensor searches.

Source: T2T 1.15.7, `utils/beam_search.py`; the length penalty is Wu et al. 2016, equation 14. The
search knows no model: it asks `step_fn` for logits and reorders the cache that `step_fn` keeps.

    step_fn(ids_bK int32, step int32 scalar, cache) -> (logits_bKV, cache)

Shapes: `B` sentences, `b` sentences still searched, `K` beams, `N` outputs wanted of each
sentence, `A` values of alpha, `V` vocabulary entries, `T` subtokens said so far, `L` the most
subtokens allowed. Id 0
is padding and the start symbol, id 1 the end of a sentence.

One step:

1. The 2K best continuations over all beams of a sentence, by log-probability. Ties go to the
   earlier beam, then to the lower id.
2. Those that end the sentence compete with the K best finished so far, by log-probability over
   the length penalty of their own length. Finished hypotheses are never scored again.
3. The K best of the others live on.

Two things differ from T2T's program and not from its results. A sentence stops on its own: when
no living hypothesis can still beat the worst of its N outputs, or at its own limit. (For N = 1
that is T2T's rule; for more, T2T waits for the worst of the whole batch, which costs five to
seven times the steps and changes no output.) And the slots of a sentence that has fewer than N
finished hypotheses hold zeros and the score -1e7; T2T may leave unfinished ids there.

CTranslate2 4.8 (`src/decoding.cc`) searches in the same way but for two things, which
`ends_within=K` gives: only the first K of the 2K candidates may end a sentence, and at a sentence's
limit those that go on count as finished too. (Its penalty, and with one its stop rule, are others.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    END_OF_SENTENCE,
    Constraint,
    Follower,
    follow,
    start_memory,
)
from keras_transformer.decoding.sampling import greedy, sample
from keras_transformer.decoding.top_candidates import log_normaliser, top_candidates

__all__ = ["INFINITY", "beam_search", "greedy", "length_penalty", "sample", "sweep_alpha"]

INFINITY = 1e7
# No hypothesis that a model can say has so low a log-probability.
IMPOSSIBLE = -INFINITY / 2

StepFunction = Callable[[Any, Any, Any], tuple[Any, Any]]


def length_penalty(length: Any, alpha: Any) -> Any:
    """Divisor for the log-probability of a hypothesis: ((5 + length) / 6) ** alpha.

    Args:
        length: subtokens, the end of sentence included, the start not.
        alpha: 0 or more; 0 switches the penalty off.
    """
    return tf.pow((5.0 + tf.cast(length, tf.float32)) / 6.0, tf.cast(alpha, tf.float32))


class _Rows(NamedTuple):
    """Everything that leaves the batch with its sentence; leading axis b."""

    place: Any  # int32 [b], in the batch
    limit: Any  # int32 [b], subtokens
    last_ids: Any  # int32 [b, K], what each living beam said last; 0 at the start
    alive_ids: Any  # int32 [b, K, T]
    alive_log_probs: Any  # float32 [b, K], best first
    finished_ids: Any  # int32 [b, A, K, T]
    finished_scores: Any  # float32 [b, A, K], best first; -INFINITY where there is none
    cache: Any
    memory: Any  # the follower's, of each living beam; leading axes b, K


def beam_search(
    step_fn: StepFunction,
    cache: Any,
    batch: Any,
    beam_size: int,
    alpha: Any,
    decode_length: Any,
    top_beams: int = 1,
    constrain: Constraint | None = None,
    follower: Follower | None = None,
    ends_within: int | None = None,
) -> tuple[Any, Any]:
    """Searches the best outputs of a batch of sentences.

    Args:
        step_fn: the model, see above.
        cache: {"memory": …leading axis B, "self": …leading axes B, K, one axis of length 0}.
        batch: B, number or int32 scalar.
        beam_size: K.
        alpha: exponent of the length penalty, number or float scalar, 0 or more.
        decode_length: the most subtokens of an output, end of sentence included: one number for
            all sentences, or int32 [B], one for each.
        top_beams: N, at most K.
        constrain: bans, see `constraints`.
        follower: bans that follow from what was said, see `constraints`.
        ends_within: CTranslate2's rule: so many of the 2K best candidates of a step may end a
            sentence, and all of them do at its limit. None for T2T's.

    Returns:
        ids: int32 [B, N, L'], best first, 0 behind the end of sentence; L' the steps taken.
        scores: float32 [B, N]. Log-probability over length penalty of finished hypotheses. A
            sentence of which no hypothesis finished within its limit has its unfinished ones
            here with plain log-probabilities. Empty places: zeros, -1e7.

    Raises:
        ValueError: beam_size below 1, or top_beams outside 1..beam_size.
    """
    ids, scores = _search(
        step_fn,
        cache,
        batch,
        beam_size,
        [alpha],
        decode_length,
        top_beams,
        constrain,
        follower,
        ends_within,
    )
    return ids[:, 0], scores[:, 0]


def sweep_alpha(
    step_fn: StepFunction,
    cache: Any,
    batch: Any,
    beam_size: int,
    alphas: Sequence[Any],
    decode_length: Any,
    constrain: Constraint | None = None,
    ends_within: int | None = None,
) -> tuple[Any, Any]:
    """The best output under each of several length penalties, by one search.

    Which hypotheses live on does not depend on alpha, since those of one step are equally long. So
    the finished ones are kept for each alpha apart, and the search goes on until every alpha is
    settled: the outputs are those of one search for each.

    Args and returns as `beam_search`, for A alphas: ids int32 [B, A, L'], scores float32 [B, A].
    """
    ids, scores = _search(
        step_fn, cache, batch, beam_size, alphas, decode_length, 1, constrain, None, ends_within
    )
    return ids[:, :, 0], scores[:, :, 0]


def _search(
    step_fn: StepFunction,
    cache: Any,
    batch: Any,
    beam_size: int,
    alphas: Sequence[Any],
    decode_length: Any,
    top_beams: int,
    constrain: Constraint | None,
    follower: Follower | None,
    ends_within: int | None,
) -> tuple[Any, Any]:
    """Ids [B, A, N, L'] and scores [B, A, N]."""
    if beam_size < 1 or not 1 <= top_beams <= beam_size:
        raise ValueError(
            f"beam_size is {beam_size}, top_beams is {top_beams}: "
            "both must be at least 1, and top_beams at most beam_size"
        )
    batch = tf.convert_to_tensor(batch, tf.int32)
    alpha = tf.stack([tf.cast(each, tf.float32) for each in alphas])
    limits = tf.broadcast_to(tf.cast(decode_length, tf.int32), [batch])
    longest = tf.reduce_max(tf.concat([limits, [0]], axis=0))

    rows = _Rows(
        place=tf.range(batch),
        limit=limits,
        last_ids=tf.zeros([batch, beam_size], tf.int32),
        alive_ids=tf.zeros([batch, beam_size, 0], tf.int32),
        alive_log_probs=tf.tile([[0.0] + [-INFINITY] * (beam_size - 1)], [batch, 1]),
        finished_ids=tf.zeros([batch, len(alphas), beam_size, 0], tf.int32),
        finished_scores=tf.fill([batch, len(alphas), beam_size], -INFINITY),
        cache=start_cache(cache, batch, beam_size),
        memory=start_memory(follower, batch, beam_size),
    )

    def searching(step: Any, done: Any, rows: _Rows, answers: Answers) -> Any:
        return tf.reduce_any(~done)

    def take_step(step: Any, done: Any, rows: _Rows, answers: Answers) -> Any:
        logits, step_cache = step_fn(rows.last_ids, step, rows.cache)
        logits = tf.cast(logits, tf.float32)
        log_norm = log_normaliser(logits)[:, :, tf.newaxis]
        if constrain is not None:
            logits = constrain(logits, rows.alive_ids, rows.place, step)
        logits, memory = follow(follower, logits, rows.memory, rows.last_ids, rows.place, step)
        parents, new_ids, log_probs = _best_continuations(
            logits, log_norm, rows.alive_log_probs, beam_size
        )
        ids = tf.concat(
            [tf.gather(rows.alive_ids, parents, batch_dims=1), new_ids[:, :, tf.newaxis]], axis=2
        )
        ends = new_ids == END_OF_SENTENCE
        counted = ends
        if ends_within is not None:
            last = (step + 1 >= rows.limit)[:, tf.newaxis]
            counted = (ends | last) & (tf.range(2 * beam_size) < ends_within)
        finished_ids, finished_scores = _keep_finished(
            rows,
            ids,
            log_probs[:, tf.newaxis] / length_penalty(step + 1, alpha)[:, tf.newaxis],
            counted & (log_probs > IMPOSSIBLE),
        )
        alive_log_probs, alive = tf.math.top_k(
            tf.where(ends, log_probs - INFINITY, log_probs), beam_size
        )
        alive_parents = tf.gather(parents, alive, batch_dims=1)
        rows = rows._replace(
            last_ids=tf.gather(new_ids, alive, batch_dims=1),
            alive_ids=tf.gather(ids, alive, batch_dims=1),
            alive_log_probs=alive_log_probs,
            finished_ids=finished_ids,
            finished_scores=finished_scores,
            cache={**step_cache, "self": _reorder(step_cache["self"], alive_parents)},
            memory=_reorder(memory, alive_parents),
        )
        step += 1
        # The longest output allowed has the largest penalty, hence the best score.
        penalty = length_penalty(rows.limit[:, tf.newaxis], alpha)
        settled = finished_scores[:, :, top_beams - 1] > alive_log_probs[:, :1] / penalty
        now_done = tf.reduce_all(settled, axis=1) | (step >= rows.limit)
        outputs, scores = _outputs(rows, top_beams)
        answers = record(answers, rows.place, now_done & ~done, outputs, scores)
        done, rows = drop_done(done | now_done, rows)
        return step, done, rows, answers

    state = (tf.constant(0), limits <= 0, rows, no_answers(batch, len(alphas) * top_beams, longest))
    steps, _, _, answers = tf.while_loop(
        searching, take_step, state, shape_invariants=growing_shapes(state)
    )
    shape = tf.stack([batch, len(alphas), top_beams, -1])
    ids = tf.reshape(answers.ids[:, :, :steps], shape)
    return ids, tf.reshape(answers.scores, shape[:3])


def _best_continuations(
    logits: Any, log_norm: Any, alive_log_probs: Any, beam_size: int
) -> tuple[Any, Any, Any]:
    """The 2K best of K·V continuations: parents, new ids, log-probabilities, each [b, 2K].

    First the best of each beam, then the best of those: no sort over K·V entries, and the
    softmax is taken of the few entries that are left.
    """
    each = 2 * beam_size if logits.shape[-1] is None else min(2 * beam_size, logits.shape[-1])
    values, ids = top_candidates(logits, each)
    log_probs = values - log_norm + alive_log_probs[:, :, tf.newaxis]
    flat = tf.reshape(log_probs, [-1, beam_size * each])
    top = tf.math.top_k(flat, 2 * beam_size)
    flat_ids = tf.reshape(ids, [-1, beam_size * each])
    new_ids = tf.gather(flat_ids, top.indices, batch_dims=1)
    return top.indices // each, new_ids, top.values


def _keep_finished(rows: _Rows, ids: Any, scores: Any, finished: Any) -> tuple[Any, Any]:
    """The K best of those finished before and those finished now, for each alpha.

    Args:
        rows: ids [b, A, K, T] and scores [b, A, K] of those finished before.
        ids: int32 [b, 2K, T + 1].
        scores: float32 [b, A, 2K].
        finished: bool [b, 2K].
    """
    alphas, beam_size = rows.finished_scores.shape[1:]

    def compete() -> tuple[Any, Any]:
        # Twice: an empty place is worth more than a hypothesis that goes on.
        now = tf.where(finished[:, tf.newaxis], scores, -2.0 * INFINITY)
        top = tf.math.top_k(tf.concat([rows.finished_scores, now], axis=2), beam_size)
        new = tf.repeat(ids[:, tf.newaxis], alphas, axis=1) if alphas > 1 else ids[:, tf.newaxis]
        both = tf.concat([keep()[0], new], axis=2)
        return tf.gather(both, top.indices, batch_dims=2), top.values

    def keep() -> tuple[Any, Any]:
        return tf.pad(rows.finished_ids, [[0, 0], [0, 0], [0, 0], [0, 1]]), rows.finished_scores

    return tf.cond(tf.reduce_any(finished), compete, keep)


def _reorder(cache: Any, parents: Any) -> Any:
    """Gives each living beam what its parent has; nothing is copied if all stay."""
    beam_size = parents.shape[1]
    if beam_size == 1 or not tf.nest.flatten(cache):
        return cache

    def gather() -> Any:
        return tf.nest.map_structure(lambda kept: tf.gather(kept, parents, batch_dims=1), cache)

    return tf.cond(tf.reduce_any(parents != tf.range(beam_size)), gather, lambda: cache)


def _outputs(rows: _Rows, top_beams: int) -> tuple[Any, Any]:
    """Ids [b, A * N, T] and scores [b, A * N] as they would be returned now."""
    any_finished = rows.finished_scores[:, :, :1] > IMPOSSIBLE
    scores = tf.where(any_finished, rows.finished_scores, rows.alive_log_probs[:, tf.newaxis])
    ids = tf.where(any_finished[..., tf.newaxis], rows.finished_ids, rows.alive_ids[:, tf.newaxis])
    # Not-a-number stays, so that a broken model is not taken for one with nothing to say.
    real = ~(scores <= IMPOSSIBLE)
    ids = tf.where(real[..., tf.newaxis], ids, 0)[:, :, :top_beams]
    scores = tf.where(real, scores, -INFINITY)[:, :, :top_beams]
    shape = tf.shape(ids)
    flat = tf.stack([shape[0], ids.shape[1] * top_beams, shape[3]])
    return tf.reshape(ids, flat), tf.reshape(scores, flat[:2])
