"""What a search may not say: bans laid over the logits of a step.

A constraint is called at every step, before candidates are chosen:

    constrain(logits_bKV, ids_bKT, rows_b, step) -> logits_bKV

`b` are the sentences still in the batch, `rows` their places in the batch the search began with,
`K` the hypotheses of each, `T = step` the subtokens said so far. A banned subtoken gets the
logit `BANNED`. Bans do not renormalise: a score stays the log-probability the model itself gives.

A constraint sees all that was said at every step. A grammar would have to read it anew each time;
it is a `Follower` instead, which keeps a memory of each hypothesis and reads one subtoken a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import tensorflow as tf

BANNED = -1e9
END_OF_SENTENCE = 1

Constraint = Callable[[Any, Any, Any, Any], Any]


class Follower(Protocol):
    """Reads along what each hypothesis says and knows what it may say next."""

    def start(self, batch: Any, hypotheses: int) -> Any:
        """The memory before anything is said: a structure of tensors with leading axes B, K."""

    def advance(self, memory: Any, last_ids: Any, rows: Any) -> Any:
        """The memory after `last_ids`, int32 [b, K]; 0, the start symbol, changes nothing."""

    def allowed(self, memory: Any, rows: Any, step: Any, vocab_size: int) -> Any:
        """bool [b, K, V], what may be said at this step."""


class OutputGrammar(Protocol):
    """What a problem's outputs must look like (`Problem.output_grammar`)."""

    def size_of(self, sentence: str) -> int:
        """The one number of a source sentence on which its outputs depend."""

    def follower(self, sizes: Any, limits: Any) -> Follower:
        """A follower for a batch of sentences of these sizes, int32 [B], whose outputs may have
        so many subtokens, int32 [B]."""


def start_memory(follower: Follower | None, batch: Any, hypotheses: int) -> Any:
    """The follower's first memory; an empty structure without one."""
    return () if follower is None else follower.start(batch, hypotheses)


def follow(
    follower: Follower | None, logits: Any, memory: Any, last_ids: Any, rows: Any, step: Any
) -> tuple[Any, Any]:
    """Logits with the follower's bans, and its memory after `last_ids`."""
    if follower is None:
        return logits, memory
    memory = follower.advance(memory, last_ids, rows)
    allowed = follower.allowed(memory, rows, step, logits.shape[-1])
    return tf.where(allowed, logits, BANNED), memory


def minimum_length(subtokens: Any) -> Constraint:
    """No end of sentence before so many subtokens were said.

    Args:
        subtokens: int32 scalar, or one number per sentence, [B]; the end of sentence not counted.
    """

    def constrain(logits: Any, ids: Any, rows: Any, step: Any) -> Any:
        least = tf.convert_to_tensor(subtokens, tf.int32)
        if least.shape.rank == 1:
            least = tf.gather(least, rows)[:, tf.newaxis, tf.newaxis]
        ends = tf.range(tf.shape(logits)[-1]) == END_OF_SENTENCE
        return tf.where(ends & (step < least), BANNED, logits)

    return constrain


def forced_prefix(prefix: Any) -> Constraint:
    """Every hypothesis begins with the given subtokens; their log-probabilities count.

    Args:
        prefix: int32 [B, P], 0 behind the end of shorter prefixes; no end of sentence inside.
    """

    def constrain(logits: Any, ids: Any, rows: Any, step: Any) -> Any:
        width = tf.shape(prefix)[1]

        def forced() -> Any:
            wanted = tf.gather(tf.gather(prefix, step, axis=1), rows)[:, tf.newaxis, tf.newaxis]
            others = tf.range(tf.shape(logits)[-1]) != wanted
            return tf.where(others & (wanted != 0), BANNED, logits)

        return tf.cond(step < width, forced, lambda: logits)

    return constrain


def banned_ids(ids_never_said: Sequence[int]) -> Constraint:
    """Subtokens that are never said, such as padding or `<unk>`."""

    def constrain(logits: Any, ids: Any, rows: Any, step: Any) -> Any:
        size = tf.shape(logits)[-1]
        never = tf.one_hot(
            list(ids_never_said), size, on_value=True, off_value=False, dtype=tf.bool
        )
        return tf.where(tf.reduce_any(never, axis=0), BANNED, logits)

    return constrain


def all_of(constraints: Sequence[Constraint]) -> Constraint | None:
    """One constraint that applies several in turn; None for none."""
    if not constraints:
        return None

    def constrain(logits: Any, ids: Any, rows: Any, step: Any) -> Any:
        for each in constraints:
            logits = each(logits, ids, rows, step)
        return logits

    return constrain
