"""The update rules T2T offers, on plain variables with named state.

An optimizer owns its slots and its scalars; `state()` names all of them for the checkpoint.
`update_variable` changes one variable on one device from one gradient, so that the loop can call it
for each replica's copy. Everything here runs inside a `tf.function`.

    adam            paper 5.3, and T2T's default: Adam whose ε is added to the root of the
                    uncorrected second moment,
                    θ −= lr · √(1 − β2^t) / (1 − β1^t) · m / (√v + ε)
                    (T2T's lazy Adam is this rule, since its embedding gradients are made dense)
    true_adam       the same rule under T2T's other name
    multistep_adam  sums n gradients, then one step of Adam with their mean over batches
    adam_w          first θ −= 0.01 · lr · θ, then Adam (T2T's AdamW)
    momentum        gradient descent with momentum, Nesterov's form on request
    adafactor       Shazeer and Stern 2018 with T2T's settings
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tensorflow as tf

from keras_transformer.config import HParams
from keras_transformer.errors import UserError

Slots = Mapping[str, tf.Variable]

# T2T gives AdamW a decay of this much of the learning rate.
ADAM_W_DECAY = 0.01


class Optimizer:
    """State and rule of one optimizer.

    Args:
        variables: name → variable to be trained. Slots are made beside each (same strategy scope).
    """

    slot_names: Sequence[str] = ()
    scalar_names: Sequence[str] = ()

    def __init__(self, variables: Mapping[str, tf.Variable]):
        self._slots: dict[str, dict[str, tf.Variable]] = {
            name: {
                slot: tf.Variable(tf.zeros(shape, variable.dtype), trainable=False, name=slot)
                for slot, shape in self.slot_shapes(variable).items()
            }
            for name, variable in variables.items()
        }
        self.scalars: dict[str, tf.Variable] = {
            name: tf.Variable(self.scalar_start(name), trainable=False, name=name)
            for name in self.scalar_names
        }

    def slot_shapes(self, variable: tf.Variable) -> dict[str, tuple[int, ...]]:
        """Slot name → shape for one variable."""
        return dict.fromkeys(self.slot_names, tuple(variable.shape))

    def scalar_start(self, name: str) -> tf.Tensor:
        """First value of a scalar."""
        raise NotImplementedError

    def slots(self, name: str) -> dict[str, tf.Variable]:
        """The slots of the variable of that name."""
        return self._slots[name]

    def state(self) -> dict[str, tf.Variable]:
        """Checkpoint name (without `optimizer/`) → variable, for everything the optimizer keeps."""
        named = dict(self.scalars)
        for name, slots in self._slots.items():
            named |= {f"{slot}/{name}": variable for slot, variable in slots.items()}
        return named

    def begin(self, step: tf.Tensor) -> dict[str, tf.Tensor]:
        """Numbers that all variables of one update share; `step` int64 = updates done before."""
        return {"step": step}

    def update_variable(
        self,
        variable: tf.Variable,
        gradient: tf.Tensor,
        slots: Slots,
        shared: Mapping[str, tf.Tensor],
        rate: tf.Tensor,
    ) -> None:
        """Changes one variable and its slots.

        Args:
            variable: the copy of one device.
            gradient: dense, same shape, float32.
            slots: that device's copies of the variable's slots.
            shared: what `begin` gave.
            rate: float32 scalar, the learning rate.
        """
        raise NotImplementedError

    def finish(self) -> None:
        """Advances the scalars after all variables were updated."""


class Adam(Optimizer):
    """Adam as T2T runs it; names of scalars as T2T's checkpoints have them."""

    slot_names: Sequence[str] = ("m", "v")
    scalar_names: Sequence[str] = ("beta1_power", "beta2_power")

    def __init__(
        self, variables: Mapping[str, tf.Variable], beta1: float, beta2: float, epsilon: float
    ):
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        super().__init__(variables)

    def scalar_start(self, name: str) -> tf.Tensor:
        return tf.constant(self.beta1 if name == "beta1_power" else self.beta2)

    def begin(self, step: tf.Tensor) -> dict[str, tf.Tensor]:
        return {name: tf.convert_to_tensor(self.scalars[name]) for name in Adam.scalar_names}

    def update_variable(
        self,
        variable: tf.Variable,
        gradient: tf.Tensor,
        slots: Slots,
        shared: Mapping[str, tf.Tensor],
        rate: tf.Tensor,
    ) -> None:
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=slots["m"].handle,
            v=slots["v"].handle,
            beta1_power=shared["beta1_power"],
            beta2_power=shared["beta2_power"],
            lr=rate,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            grad=gradient,
            use_locking=True,
        )

    def finish(self) -> None:
        for name, factor in (("beta1_power", self.beta1), ("beta2_power", self.beta2)):
            self.scalars[name].assign(self.scalars[name] * factor)


class AdamW(Adam):
    """Decoupled decay as T2T set it: 0.01 of the learning rate, before Adam's own step."""

    def update_variable(
        self,
        variable: tf.Variable,
        gradient: tf.Tensor,
        slots: Slots,
        shared: Mapping[str, tf.Tensor],
        rate: tf.Tensor,
    ) -> None:
        decayed = variable.assign_sub(ADAM_W_DECAY * rate * variable)
        with tf.control_dependencies([tf.convert_to_tensor(decayed)]):
            super().update_variable(variable, gradient, slots, shared, rate)


class MultistepAdam(Adam):
    """Adam every n-th step with the mean of the last n gradients (T2T `multistep_adam`).

    The mean is over batches, each with its own token mean; steps are micro-steps. For the step that
    n devices would take, use gradient accumulation (`--simulate_replicas`), which weighs by tokens.
    """

    slot_names = ("m", "v", "accumulated")
    scalar_names = ("beta1_power", "beta2_power", "micro_step")

    def __init__(
        self,
        variables: Mapping[str, tf.Variable],
        beta1: float,
        beta2: float,
        epsilon: float,
        accumulate_steps: int,
    ):
        self.accumulate_steps = accumulate_steps
        super().__init__(variables, beta1, beta2, epsilon)

    def scalar_start(self, name: str) -> tf.Tensor:
        # T2T counts from 1, so that updates fall on the micro-steps n, 2n, 3n …
        return tf.constant(1, tf.int64) if name == "micro_step" else super().scalar_start(name)

    def begin(self, step: tf.Tensor) -> dict[str, tf.Tensor]:
        due = tf.equal(self.scalars["micro_step"] % self.accumulate_steps, 0)
        return {**super().begin(step), "due": due}

    def update_variable(
        self,
        variable: tf.Variable,
        gradient: tf.Tensor,
        slots: Slots,
        shared: Mapping[str, tf.Tensor],
        rate: tf.Tensor,
    ) -> None:
        accumulated = slots["accumulated"]

        def apply() -> tf.Tensor:
            mean = (accumulated + gradient) / float(self.accumulate_steps)
            super(MultistepAdam, self).update_variable(variable, mean, slots, shared, rate)
            accumulated.assign(tf.zeros_like(accumulated))
            return tf.constant(True)

        def accumulate() -> tf.Tensor:
            accumulated.assign_add(gradient)
            return tf.constant(False)

        tf.cond(shared["due"], apply, accumulate)

    def finish(self) -> None:
        micro_step = self.scalars["micro_step"]
        due = tf.equal(micro_step % self.accumulate_steps, 0)
        for name, factor in (("beta1_power", self.beta1), ("beta2_power", self.beta2)):
            power = self.scalars[name]
            power.assign(tf.where(due, power * factor, tf.convert_to_tensor(power)))
        micro_step.assign(micro_step + 1)


class Momentum(Optimizer):
    """velocity = momentum · velocity + gradient; θ −= lr · velocity."""

    slot_names = ("velocity",)

    def __init__(self, variables: Mapping[str, tf.Variable], momentum: float, nesterov: bool):
        self.momentum, self.nesterov = momentum, nesterov
        super().__init__(variables)

    def update_variable(
        self,
        variable: tf.Variable,
        gradient: tf.Tensor,
        slots: Slots,
        shared: Mapping[str, tf.Tensor],
        rate: tf.Tensor,
    ) -> None:
        tf.raw_ops.ResourceApplyMomentum(
            var=variable.handle,
            accum=slots["velocity"].handle,
            lr=rate,
            grad=gradient,
            momentum=self.momentum,
            use_nesterov=self.nesterov,
            use_locking=True,
        )


class Adafactor(Optimizer):
    """Adam's second moment kept as row and column means (Shazeer and Stern 2018, algorithms 4, 5).

    T2T's settings: decay 1 − t^−0.8, update clipped to root mean square 1, step relative to the
    parameter's own root mean square (at least 0.001), no first moment unless beta1 is set.
    """

    EPSILON_SQUARES = 1e-30
    EPSILON_SCALE = 1e-3

    def __init__(self, variables: Mapping[str, tf.Variable], hparams: HParams):
        self.hparams = hparams
        super().__init__(variables)

    def slot_shapes(self, variable: tf.Variable) -> dict[str, tuple[int, ...]]:
        shape = tuple(variable.shape)
        if self.hparams.optimizer_adafactor_factored and len(shape) >= 2:
            shapes = {"rows": shape[:-1], "columns": shape[:-2] + shape[-1:]}
        else:
            shapes = {"v": shape}
        if self.hparams.optimizer_adafactor_beta1:
            shapes["m"] = shape
        return shapes

    def begin(self, step: tf.Tensor) -> dict[str, tf.Tensor]:
        count = tf.cast(step, tf.float32) + 1.0
        if self.hparams.optimizer_adafactor_decay_type == "pow":
            decay = 1.0 - count**-self.hparams.optimizer_adafactor_memory_exponent
        else:
            beta2 = tf.constant(self.hparams.optimizer_adafactor_beta2)
            decay = beta2 * (1.0 - beta2 ** (count - 1.0)) / (1.0 - beta2**count)
        return {"decay": decay}

    def update_variable(
        self,
        variable: tf.Variable,
        gradient: tf.Tensor,
        slots: Slots,
        shared: Mapping[str, tf.Tensor],
        rate: tf.Tensor,
    ) -> None:
        decay = shared["decay"]

        def moving(slot: tf.Variable, new: tf.Tensor) -> tf.Tensor:
            return tf.convert_to_tensor(slot.assign(decay * slot + (1.0 - decay) * new))

        squares = tf.square(gradient) + self.EPSILON_SQUARES
        if "rows" in slots:
            rows = moving(slots["rows"], tf.reduce_mean(squares, axis=-1))
            columns = moving(slots["columns"], tf.reduce_mean(squares, axis=-2))
            rows = rows / tf.reduce_mean(rows, axis=-1, keepdims=True)
            update = (
                gradient * tf.math.rsqrt(rows)[..., None] * tf.math.rsqrt(columns)[..., None, :]
            )
        else:
            update = gradient * tf.math.rsqrt(moving(slots["v"], squares))
        threshold = self.hparams.optimizer_adafactor_clipping_threshold
        if threshold:
            update /= tf.maximum(1.0, _root_mean_square(update) / threshold)
        if self.hparams.optimizer_adafactor_multiply_by_parameter_scale:
            parameter = tf.convert_to_tensor(variable)
            update *= tf.maximum(_root_mean_square(parameter), self.EPSILON_SCALE)
        update *= rate
        if "m" in slots:
            beta1 = self.hparams.optimizer_adafactor_beta1
            update = slots["m"].assign(beta1 * slots["m"] + (1.0 - beta1) * update)
        variable.assign_sub(update)


def _root_mean_square(tensor: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(tf.reduce_mean(tf.square(tensor)))


def from_hparams(hparams: HParams, variables: Mapping[str, tf.Variable]) -> Optimizer:
    """The optimizer that `hparams.optimizer` names.

    Raises:
        UserError: `multistep_adam` without a number of steps to accumulate.
    """
    adam = (
        hparams.optimizer_adam_beta1,
        hparams.optimizer_adam_beta2,
        hparams.optimizer_adam_epsilon,
    )
    if hparams.optimizer == "multistep_adam":
        steps = hparams.optimizer_multistep_accumulate_steps
        if steps < 1:
            raise UserError(
                "optimizer is multistep_adam, optimizer_multistep_accumulate_steps is 0: say how "
                "many batches make one update"
            )
        return MultistepAdam(variables, *adam, accumulate_steps=steps)
    if hparams.optimizer == "adam_w":
        return AdamW(variables, *adam)
    if hparams.optimizer == "momentum":
        return Momentum(
            variables,
            hparams.optimizer_momentum_momentum,
            hparams.optimizer_momentum_nesterov,
        )
    if hparams.optimizer == "adafactor":
        return Adafactor(variables, hparams)
    return Adam(variables, *adam)


def decays(name: str) -> bool:
    """True if weight decay touches the variable: all but biases, layer-norm scales included.

    T2T's rule is the end of the name; its layer-norm shift is called `layer_norm_bias`.
    """
    return not name.endswith(("bias", "beta"))
