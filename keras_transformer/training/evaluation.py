"""Teacher-forced evaluation of a model on a held-out split, without smoothing and dropout.

Means are streaming weighted means over all batches, as T2T's: over subtokens for accuracy and
perplexity, over sentences for whole-sentence accuracy, over batches for the loss and the scores of
ids. `approx_bleu_score` is teacher-forced and no BLEU of translations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.training import loss, metrics
from keras_transformer.training.distribution import rows_of_replica

Batch = Mapping[str, tf.Tensor]

# In the order of the sums that a replica returns.
WEIGHTED = {
    "accuracy": metrics.accuracy,
    "accuracy_top5": metrics.accuracy_top5,
    "accuracy_per_sequence": metrics.accuracy_per_sequence,
    "neg_log_perplexity": metrics.neg_log_perplexity,
}
OF_IDS = {
    "approx_bleu_score": metrics.approx_bleu_score,
    "rouge_2_fscore": metrics.rouge_2_fscore,
    "rouge_L_fscore": metrics.rouge_l_fscore,
}


class Evaluator:
    """Compiles once, evaluates as often as wanted.

    Args:
        model: called as `model(features, training=False)`.
        strategy: the devices; each takes its rows of every batch.
        loss_multiplier: the problem's factor on the loss.
    """

    def __init__(
        self,
        model: keras.Model,
        strategy: tf.distribute.Strategy,
        loss_multiplier: float = 1.0,
    ):
        self.model = model
        self.strategy = strategy
        self.loss_multiplier = loss_multiplier
        self._measure = tf.function(self._measure_batch, reduce_retracing=True, autograph=False)

    def evaluate(self, batches: Iterable[Batch]) -> dict[str, float]:
        """Figures of all batches.

        Returns:
            loss (mean of batch means, nats per subtoken), the metrics of T2T by their names,
            perplexity (per subtoken), batches, target_tokens. Empty if there was no batch.
        """
        sums, number = np.zeros([len(WEIGHTED), 2]), 0
        batch_means: dict[str, float] = dict.fromkeys(["loss", *OF_IDS], 0.0)
        tokens = 0.0
        for batch in batches:
            local_sums, predicted, labels = self._measure(dict(batch))
            batch_sums = np.asarray(local_sums, np.float64)
            sums += batch_sums
            number += 1
            log_likelihood, weight = batch_sums[list(WEIGHTED).index("neg_log_perplexity")]
            batch_means["loss"] += -log_likelihood * self.loss_multiplier / max(1.0, weight)
            tokens += weight
            ids, right = predicted.numpy(), labels.numpy()
            for name, score in OF_IDS.items():
                batch_means[name] += score(ids, right)
        if not number:
            return {}
        figures = {name: total / number for name, total in batch_means.items()}
        for name, (value, weight) in zip(WEIGHTED, sums, strict=True):
            figures[name] = value / weight if weight else 0.0
        figures["perplexity"] = math.exp(min(-figures["neg_log_perplexity"], 700.0))
        return {**figures, "batches": number, "target_tokens": tokens}

    def _measure_batch(self, batch: Batch) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        def measure(batch: Batch) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            share = rows_of_replica(batch, replica, self.strategy.num_replicas_in_sync)
            logits = tf.cast(self.model(share, training=False), tf.float32)
            logits, labels = loss.same_length(logits, share["targets"])
            sums = []
            for metric in WEIGHTED.values():
                values, weights = metric(logits, labels)
                sums.append([tf.reduce_sum(values * weights), tf.reduce_sum(weights)])
            predicted = tf.argmax(logits, axis=-1, output_type=tf.int32)
            return tf.convert_to_tensor(sums), predicted, labels

        sums, predicted, labels = self.strategy.run(measure, args=(batch,))
        total = self.strategy.reduce(tf.distribute.ReduceOp.SUM, sums, axis=None)
        rows = tf.shape(batch["targets"])[0]
        return total, self._joined(predicted)[:rows], self._joined(labels)[:rows]

    def _joined(self, values: Any) -> tf.Tensor:
        return tf.concat(self.strategy.experimental_local_results(values), axis=0)
