"""One update of the weights from one global batch, compiled.

Each replica computes the gradient of its own sum of losses; sums and gradients are added up over
the replicas (and over the batches of one accumulated update) and divided by the number of target
tokens in all of them. So the update is that of one large batch, however it is cut up: a mean over
tokens, never a mean of means.

If the loss or the gradient is not finite the update is left out and said so: weights and the
optimizer's state stay as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from keras_transformer.config import HParams
from keras_transformer.layers.dropout import dropout_noise
from keras_transformer.training import loss, optimizer
from keras_transformer.training.bucket_shapes import pad_to_bucket
from keras_transformer.training.distribution import first_replica, rows_of_replica
from keras_transformer.training.loss_scale import LossScale
from keras_transformer.training.projected_loss import projected_cross_entropy

Batch = Mapping[str, tf.Tensor]

# How many numbers a process may send with an update.
WISHES = 4


class StepResult(NamedTuple):
    """What one update reports; tensors of one number each."""

    loss: Any  # float32, smoothed, less its least value; mean over target tokens, in nats
    source_tokens: Any  # float32, real positions of the source, EOS counted
    target_tokens: Any  # float32, real positions of the target, EOS counted
    gradient_norm: Any  # float32, global, before clipping, weight decay included
    finite: Any  # bool, the update was made
    wishes: Any  # float32 [W], sums over all replicas of what each process gave with its batches


class TrainStep:
    """A model, its optimizer, and the compiled functions that update them.

    Make it under `strategy.scope()`.

    Args:
        model: called as `model(features, training=True, return_states=True)`, gives [B, T, d];
            `model.softmax_table` makes logits of them.
        hparams: label smoothing, optimizer, clipping, weight decay.
        strategy: the devices.
        accumulate: batches whose gradients make one update.
        workers: processes that train together, with as many devices each. With more than one the
            batches hold this one's rows of the global batches (`pipeline.training_dataset`).
        loss_multiplier: the problem's factor on the loss.
        seed: of the noise of dropout.
        jit: compile the gradient with XLA, once for each shape of batch.
        jit_lengths: the longest sentence of each bucket in subtokens, ascending. With XLA batches
            are padded to the next of them, so that few shapes are compiled.

    Attributes:
        compiled_shapes: [B, positions of each side] of the batches XLA compiled for, in that order;
            B in this process.
    """

    def __init__(
        self,
        model: keras.Model,
        hparams: HParams,
        strategy: tf.distribute.Strategy,
        accumulate: int = 1,
        workers: int = 1,
        loss_multiplier: float = 1.0,
        seed: int = 0,
        jit: bool = False,
        jit_lengths: Sequence[int] = (),
    ):
        self.model = model
        self.hparams = hparams
        self.strategy = strategy
        self.accumulate = accumulate
        self.loss_multiplier = loss_multiplier
        self.seed = seed
        self._jit = jit
        self.jit_lengths = tuple(jit_lengths)
        self.compiled_shapes: list[tuple[int, ...]] = []
        self._replicas = strategy.num_replicas_in_sync
        self._replicas_here = self._replicas // workers
        self._variables: dict[str, tf.Variable] = {
            name: variable.value
            for name, variable in model.named_weights().items()
            if variable.trainable
        }
        self.optimizer = optimizer.from_hparams(hparams, self._variables)
        self.loss_scale: LossScale | None = None
        if hparams.activation_dtype == "float16" or hparams.gpu_automatic_mixed_precision:
            self.loss_scale = LossScale(hparams.mixed_precision_optimizer_init_loss_scale)
        self._accumulated = [
            tf.Variable(
                tf.zeros(shape),
                trainable=False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
            for shape in [*(v.shape for v in self._variables.values()), [3]]
            if accumulate > 1
        ]
        gradients = self._gradients_of_share
        self._gradients = (
            tf.function(gradients, jit_compile=True, autograph=False) if jit else gradients
        )
        self._update: Any = None
        self._add_up: Any = None

    def state(self) -> dict[str, tf.Variable]:
        """Name → variable of all that an update changes besides the weights."""
        state = {f"optimizer/{name}": each for name, each in self.optimizer.state().items()}
        if self.loss_scale is not None:
            state |= {f"optimizer/{name}": each for name, each in self.loss_scale.state().items()}
        return state

    def trace(self, batch: Mapping[str, tf.Tensor | tf.TensorSpec]) -> None:
        """Builds the graphs for batches with these features, of whatever size.

        Done at the first call otherwise; earlier, it can go on while the first batch is read.
        """
        features = {
            name: tf.TensorSpec([None] * each.shape.rank, each.dtype, name)
            for name, each in batch.items()
        }
        noise, rate = tf.TensorSpec([2], tf.int32), tf.TensorSpec([], tf.float32)
        wanted, wishes = tf.TensorSpec([], tf.bool), tf.TensorSpec([WISHES], tf.float32)
        self._update = tf.function(
            self._update_from_batch,
            input_signature=[features, noise, rate, wanted, wishes],
            autograph=False,
        )
        self._update.get_concrete_function()
        if self.accumulate > 1:
            self._add_up = tf.function(
                self._accumulate_batch, input_signature=[features, noise], autograph=False
            )
            self._add_up.get_concrete_function()

    def __call__(
        self,
        batches: Sequence[Batch],
        step: int,
        rate: float,
        wishes: Sequence[float] = (0.0,) * WISHES,
    ) -> StepResult:
        """Makes one update.

        Args:
            batches: `accumulate` batches of ids.
            step: updates done before.
            rate: the learning rate.
            wishes: numbers that reach every process, added up, with the result.
        """
        if self._update is None:
            self.trace(batches[0])
        for number, batch in enumerate(batches[:-1]):
            self._add_up(self._for_compilation(batch), tf.constant([step, number + 1]))
        return self._update(
            self._for_compilation(batches[-1]),
            tf.constant([step, 0]),
            tf.constant(rate, tf.float32),
            tf.constant(True),
            tf.constant(wishes, tf.float32),
        )

    def try_out(self, batch: Batch) -> StepResult:
        """Does all the work of an update but changes nothing: does this batch fit into memory?

        Raises:
            tf.errors.ResourceExhaustedError: it does not.
        """
        if self._update is None:
            self.trace(batch)
        return self._update(
            self._for_compilation(batch),
            tf.constant([0, 0]),
            tf.zeros([]),
            tf.constant(False),
            tf.zeros([WISHES]),
        )

    def _for_compilation(self, batch: Batch) -> dict[str, tf.Tensor]:
        """The batch in one of the few shapes that XLA compiles for; as it is without XLA."""
        if not self._jit:
            return dict(batch)
        padded = pad_to_bucket(batch, self.jit_lengths)
        shape = tuple(padded["inputs"].shape) + tuple(padded["targets"].shape[1:])
        if shape not in self.compiled_shapes:
            self.compiled_shapes.append(shape)
        return padded

    def _accumulate_batch(self, batch: Batch, noise: tf.Tensor) -> None:
        def add(batch: Batch, noise: tf.Tensor) -> None:
            gradients, sums = self._replica_gradients(batch, noise)
            for total, part in zip(self._accumulated, [*gradients, sums], strict=True):
                total.assign_add(part)

        self.strategy.run(add, args=(batch, noise))

    def _update_from_batch(
        self,
        batch: Batch,
        noise: tf.Tensor,
        rate: tf.Tensor,
        wanted: tf.Tensor,
        wishes: tf.Tensor,
    ) -> StepResult:
        def compute(
            batch: Batch, noise: tf.Tensor, wishes: tf.Tensor
        ) -> tuple[list[tf.Tensor], tf.Tensor]:
            gradients, sums = self._replica_gradients(batch, noise)
            parts = [*gradients, sums]
            if self._accumulated:
                parts = []
                for total, part in zip(self._accumulated, [*gradients, sums], strict=True):
                    parts.append(part + total)
                    total.assign(tf.zeros_like(total))
            return parts[:-1], tf.concat([parts[-1], wishes], axis=0)

        gradients, sums = self.strategy.run(compute, args=(batch, noise, wishes))
        variables = list(self._variables.values())
        gradients = self.strategy.extended.batch_reduce_to(
            tf.distribute.ReduceOp.SUM, list(zip(gradients, variables, strict=True))
        )
        sums = self.strategy.reduce(tf.distribute.ReduceOp.SUM, sums, axis=None)
        losses, source_tokens, target_tokens = tf.unstack(sums[:3])
        tokens = tf.maximum(target_tokens, 1.0)
        mean_loss = losses * self.loss_multiplier / tokens
        factor = self.loss_multiplier / (tokens * self._scale())

        norm = self._gradient_norm(gradients, factor)
        finite = tf.math.is_finite(norm) & tf.math.is_finite(mean_loss)
        clipping = tf.ones([])
        if self.hparams.clip_grad_norm:
            bound = self.hparams.clip_grad_norm
            clipping = bound / tf.maximum(norm, bound)

        def apply() -> tf.Tensor:
            self._apply(gradients, factor, clipping, noise[0], rate)
            return tf.constant(True)

        tf.cond(finite & wanted, apply, lambda: tf.constant(False))
        if self.loss_scale is not None:
            # A trial counts as neither a good step nor a bad one.
            tf.cond(
                wanted,
                lambda: self.loss_scale.update(finite),
                lambda: tf.constant(False),
            )
        return StepResult(mean_loss, source_tokens, target_tokens, norm, finite, sums[3:])

    def _replica_gradients(
        self, batch: Batch, noise: tf.Tensor
    ) -> tuple[list[tf.Tensor], tf.Tensor]:
        """In replica context: the gradient of this replica's share, and its three sums."""
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        here = self._replicas_here  # replicas are numbered worker by worker
        share = rows_of_replica(batch, replica % here, here)
        # Different noise on every replica and for every batch of one update.
        seed = tf.random.experimental.stateless_fold_in(
            tf.stack([tf.constant(self.seed), noise[0]]), noise[1] * self._replicas + replica
        )
        return self._gradients(share, seed, self._scale())

    def _gradients_of_share(
        self, share: Batch, seed: tf.Tensor, scale: tf.Tensor
    ) -> tuple[list[tf.Tensor], tf.Tensor]:
        variables = list(self._variables.values())
        with dropout_noise(seed), tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            total, tokens = self._loss(share)
            objective = total * scale
        gradients = tape.gradient(
            objective, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        source_tokens = tf.math.count_nonzero(share["inputs"], dtype=tf.float32)
        dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
        return dense, tf.stack([total, source_tokens, tokens])

    def _loss(self, share: Batch) -> tuple[tf.Tensor, tf.Tensor]:
        """Sum of the smoothed loss over the real target positions, and their number."""
        targets, smoothing = share["targets"], self.hparams.label_smoothing
        if self._jit:
            # XLA needs shapes that do not depend on how many positions are real.
            logits = self.model(share, training=True)
            return loss.padded_cross_entropy(logits, targets, smoothing)
        states = self.model(share, training=True, return_states=True)
        table = tf.convert_to_tensor(self.model.softmax_table)
        return projected_cross_entropy(states, table, targets, smoothing)

    def _scale(self) -> tf.Tensor:
        """Factor on the sum of losses before differentiation, taken off the gradients again."""
        if self.loss_scale is None:
            return tf.ones([])
        # T2T scales a mean over tokens; a scaled sum would overflow in float16.
        return self.loss_scale.factor() / float(self.hparams.batch_size)

    def _decay(self, name: str) -> float:
        return self.hparams.weight_decay if optimizer.decays(name) else 0.0

    def _gradient_norm(self, gradients: list[Any], factor: tf.Tensor) -> tf.Tensor:
        local = [first_replica(self.strategy, gradient) for gradient in gradients]
        if not self.hparams.weight_decay:
            return tf.linalg.global_norm(local) * factor
        weights = [first_replica(self.strategy, v) for v in self._variables.values()]
        return tf.linalg.global_norm(
            [
                gradient * factor + self._decay(name) * weight
                for name, gradient, weight in zip(self._variables, local, weights, strict=True)
            ]
        )

    def _apply(
        self,
        gradients: list[Any],
        factor: tf.Tensor,
        clipping: tf.Tensor,
        step: tf.Tensor,
        rate: tf.Tensor,
    ) -> None:
        shared = self.optimizer.begin(tf.cast(step, tf.int64))
        for (name, variable), gradient in zip(self._variables.items(), gradients, strict=True):
            decay = self._decay(name)

            def update(
                copy: tf.Variable, raw: tf.Tensor, slots: dict[str, tf.Variable], decay: float
            ) -> None:
                mean = raw * (factor * clipping)
                if decay:
                    mean += (decay * clipping) * copy
                self.optimizer.update_variable(copy, mean, slots, shared, rate)

            self.strategy.extended.update(
                variable, update, args=(gradient, self.optimizer.slots(name), decay)
            )
        self.optimizer.finish()
