"""The learning rate of a step, as T2T computes it.

`step` is the number of updates already done: 0 for the first one. Two forms exist: the legacy
scheme (paper 5.3 when the scheme is `noam`), which counts from step + 1, and a product of named
factors, which uses the step itself, so that its first update has rate 0. Plain Python: the loop
computes the rate on the host and passes it to the compiled step.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from keras_transformer.config import HParams
from keras_transformer.errors import UserError


def learning_rate(hparams: HParams, step: int, train_steps: int = 0) -> float:
    """The rate of the update after `step` updates.

    Args:
        hparams: `learning_rate_*`, `optimizer`, `hidden_size`; with `multistep_adam` the formulas
            see step / optimizer_multistep_accumulate_steps.
        step: updates (micro-steps for `multistep_adam`) already done.
        train_steps: total steps of the run; two of the factors need it.

    Raises:
        UserError: a factor needs `train_steps` and there are none to reckon with.
    """
    position = float(step)
    if hparams.optimizer == "multistep_adam" and hparams.optimizer_multistep_accumulate_steps:
        position /= hparams.optimizer_multistep_accumulate_steps
    rate = 1.0
    for name in hparams.learning_rate_schedule.split("*"):
        rate *= _FACTORS[name.strip()](hparams, position, train_steps)
    if hparams.learning_rate_minimum is not None:
        rate = max(rate, hparams.learning_rate_minimum)
    return rate


def _constant(hparams: HParams, step: float, train_steps: int) -> float:
    return hparams.learning_rate_constant


def _linear_warmup(hparams: HParams, step: float, train_steps: int) -> float:
    return min(1.0, step / hparams.learning_rate_warmup_steps)


def _linear_decay(hparams: HParams, step: float, train_steps: int) -> float:
    left = (_needed(train_steps, "linear_decay") - step) / hparams.learning_rate_decay_steps
    return min(1.0, max(0.0, left))


def _rsqrt_decay(hparams: HParams, step: float, train_steps: int) -> float:
    return max(step, hparams.learning_rate_warmup_steps) ** -0.5


def _rsqrt_normalized_decay(hparams: HParams, step: float, train_steps: int) -> float:
    warmup = hparams.learning_rate_warmup_steps
    return (warmup / max(step, warmup)) ** 0.5


def _rsqrt_hidden_size(hparams: HParams, step: float, train_steps: int) -> float:
    return hparams.hidden_size**-0.5


def _cosdecay(hparams: HParams, step: float, train_steps: int) -> float:
    if step <= hparams.learning_rate_warmup_steps:
        return 1.0
    return 0.5 * (1.0 + math.cos(math.pi * step / hparams.learning_rate_decay_steps))


def _single_cycle_cos_decay(hparams: HParams, step: float, train_steps: int) -> float:
    warmup = hparams.learning_rate_warmup_steps
    length = _needed(train_steps, "single_cycle_cos_decay") - warmup
    if length <= 0:
        raise UserError(
            f"train_steps is {train_steps}, learning_rate_warmup_steps is {warmup}: "
            "single_cycle_cos_decay needs more steps than the warm-up has"
        )
    return 0.5 * (1.0 + math.cos(math.pi * (max(step, warmup) - warmup) / length))


def _multi_cycle_cos_decay(hparams: HParams, step: float, train_steps: int) -> float:
    warmup = hparams.learning_rate_warmup_steps
    turned = math.pi * (max(step, warmup) - warmup) / hparams.learning_rate_decay_steps
    return 0.5 * (1.0 + math.cos(turned))


def _exp_decay(hparams: HParams, step: float, train_steps: int) -> float:
    passed = (step - hparams.learning_rate_warmup_steps) / hparams.learning_rate_decay_steps
    passed = max(0.0, passed)
    if hparams.learning_rate_decay_staircase:
        passed = math.floor(passed)
    return hparams.learning_rate_decay_rate**passed


def _legacy(hparams: HParams, step: float, train_steps: int) -> float:
    """T2T's older scheme; 5000 · 0.002 · 0.1 is 1, the paper's formula."""
    correction = 0.002 if "adam" in hparams.optimizer else 1.0
    warmup = hparams.learning_rate_warmup_steps
    if hparams.learning_rate_decay_scheme == "noam":
        shape = 5000.0 * hparams.hidden_size**-0.5
        shape *= min((step + 1) * warmup**-1.5, (step + 1) ** -0.5)
    else:
        # Scheme `none`: the rate rises exponentially from a hundredth, then stays.
        shape = 0.01 ** max(0.0, 1.0 - step / warmup)
    return shape * correction * hparams.learning_rate


def _needed(train_steps: int, factor: str) -> int:
    if train_steps <= 0:
        raise UserError(f"the learning-rate factor {factor} needs --train_steps")
    return train_steps


_FACTORS: dict[str, Callable[[HParams, float, int], float]] = {
    "constant": _constant,
    "cosdecay": _cosdecay,
    "exp_decay": _exp_decay,
    "legacy": _legacy,
    "linear_decay": _linear_decay,
    "linear_warmup": _linear_warmup,
    "multi_cycle_cos_decay": _multi_cycle_cos_decay,
    "rsqrt_decay": _rsqrt_decay,
    "rsqrt_hidden_size": _rsqrt_hidden_size,
    "rsqrt_normalized_decay": _rsqrt_normalized_decay,
    "single_cycle_cos_decay": _single_cycle_cos_decay,
}
