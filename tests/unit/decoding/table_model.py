"""Models without a network: the next subtoken's probabilities stand in a table or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

Prefix = tuple[int, ...]


class FunctionModel:
    """A step function whose logits are `logits_of(sentence, prefix)`, a NumPy row of length V."""

    def __init__(self, vocab_size: int, logits_of: Callable[[int, Prefix], np.ndarray]) -> None:
        self.vocab_size = vocab_size
        self.logits_of = logits_of
        self.rows_asked: list[tuple[int, ...]] = []  # the sentences in the batch at each step

    def start(self, sentences: Sequence[int]) -> dict[str, Any]:
        """The cache: which sentence each row is, and what each hypothesis said so far."""
        return {
            "memory": {"sentence": tf.constant(list(sentences), tf.int32)},
            "self": [{"said": tf.zeros([len(sentences), 1, 0], tf.int32)}],
        }

    def step(self, ids: Any, step: Any, cache: Any) -> tuple[Any, Any]:
        said = tf.concat([cache["self"][0]["said"], ids[:, :, tf.newaxis]], axis=2)
        logits = tf.numpy_function(
            self._logits, [cache["memory"]["sentence"], said], tf.float32, stateful=True
        )
        logits = tf.ensure_shape(logits, [None, ids.shape[1], self.vocab_size])
        return logits, {**cache, "self": [{"said": said}]}

    def _logits(self, sentences: np.ndarray, said: np.ndarray) -> np.ndarray:
        self.rows_asked.append(tuple(int(sentence) for sentence in sentences))
        out = np.zeros((*said.shape[:2], self.vocab_size), np.float32)
        for row, sentence in enumerate(sentences):
            for beam in range(said.shape[1]):
                prefix = tuple(int(symbol) for symbol in said[row, beam, 1:])
                out[row, beam] = self.logits_of(int(sentence), prefix)
        return out


def table_model(
    vocab_size: int,
    tables: Sequence[Mapping[Prefix, Mapping[int, float]]],
    otherwise: Mapping[int, float],
) -> FunctionModel:
    """A model from tables of probabilities, one table per sentence; what is not there is never."""

    def logits_of(sentence: int, prefix: Prefix) -> np.ndarray:
        logits = np.full(vocab_size, -1e9)
        for symbol, probability in tables[sentence].get(prefix, otherwise).items():
            logits[symbol] = np.log(probability)
        return logits

    return FunctionModel(vocab_size, logits_of)


def random_model(
    vocab_size: int, seed: int, spread: float = 1.5, end: float = 0.0
) -> FunctionModel:
    """A model whose logits are random but fixed for each sentence and prefix."""

    def logits_of(sentence: int, prefix: Prefix) -> np.ndarray:
        generator = np.random.default_rng([seed, sentence, *prefix])
        logits = generator.normal(size=vocab_size) * spread
        logits[1] += end
        return logits

    return FunctionModel(vocab_size, logits_of)
