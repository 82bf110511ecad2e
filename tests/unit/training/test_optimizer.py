"""The update rules no recorded run covers, against their formulas in float64.

Adam and multistep Adam are held to recorded runs of T2T in test_train_step.py.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import HParams
from keras_transformer.errors import UserError
from keras_transformer.training import optimizer

STEPS = 4
RATE = 0.05


def gradients(shape):
    return np.random.default_rng(2).normal(size=(STEPS, *shape))


def run(hparams, start, given):
    """The variable after each step."""
    variable = tf.Variable(start, dtype=tf.float32)
    rule = optimizer.from_hparams(hparams, {"w": variable})
    values = []
    for step, gradient in enumerate(given):
        shared = rule.begin(tf.constant(step, tf.int64))
        rule.update_variable(
            variable, tf.constant(gradient, tf.float32), rule.slots("w"), shared, tf.constant(RATE)
        )
        rule.finish()
        values.append(variable.numpy())
    return values, rule


def adam(start, given, decay=0.0, beta1=0.9, beta2=0.98, epsilon=1e-9):
    value, m, v, values = start.astype(float), 0.0, 0.0, []
    for t, gradient in enumerate(given, start=1):
        value = value - decay * value
        m, v = beta1 * m + (1 - beta1) * gradient, beta2 * v + (1 - beta2) * gradient**2
        rate = RATE * np.sqrt(1 - beta2**t) / (1 - beta1**t)
        value = value - rate * m / (np.sqrt(v) + epsilon)
        values.append(value)
    return values


@pytest.mark.parametrize(("name", "decay"), [("true_adam", 0.0), ("adam_w", 0.01 * RATE)])
def test_adam_and_its_decoupled_decay(name, decay):
    start = np.random.default_rng(1).normal(size=(3, 2))
    given = gradients((3, 2))
    values, rule = run(HParams(optimizer=name), start, given)
    np.testing.assert_allclose(values, adam(start, given, decay), rtol=1e-5, atol=1e-6)
    assert set(rule.state()) == {"m/w", "v/w", "beta1_power", "beta2_power"}


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum(nesterov):
    start, given = np.ones(3), gradients((3,))
    hparams = HParams(
        optimizer="momentum",
        optimizer_momentum_momentum=0.8,
        optimizer_momentum_nesterov=nesterov,
    )
    value, velocity, expected = start, 0.0, []
    for gradient in given:
        velocity = 0.8 * velocity + gradient
        value = value - RATE * (gradient + 0.8 * velocity if nesterov else velocity)
        expected.append(value)
    np.testing.assert_allclose(run(hparams, start, given)[0], expected, rtol=1e-5)


def rms(x):
    return np.sqrt(np.mean(x**2))


def adafactor(start, given, factored, beta1=0.0, decay_type="pow"):
    """Shazeer and Stern 2018, algorithms 4 and 5, written out."""
    value, values = start.astype(float), []
    rows, columns, v, m = 0.0, 0.0, 0.0, 0.0
    for t, gradient in enumerate(given, start=1):
        decay = (
            1 - t**-0.8 if decay_type == "pow" else 0.999 * (1 - 0.999 ** (t - 1)) / (1 - 0.999**t)
        )
        squares = gradient**2 + 1e-30
        if factored:
            rows = decay * rows + (1 - decay) * squares.mean(axis=1)
            columns = decay * columns + (1 - decay) * squares.mean(axis=0)
            # Rank one: row means times column means over the mean of all.
            update = gradient / np.sqrt(np.outer(rows, columns) / rows.mean())
        else:
            v = decay * v + (1 - decay) * squares
            update = gradient / np.sqrt(v)
        update = update / max(1.0, rms(update) / 1.0)
        update = update * RATE * max(rms(value), 1e-3)
        if beta1:
            m = beta1 * m + (1 - beta1) * update
            update = m
        value = value - update
        values.append(value)
    return values


@pytest.mark.parametrize(
    ("shape", "factored", "changes", "slots"),
    [
        ((4, 3), True, {}, {"rows/w", "columns/w"}),
        ((4, 3), False, {"optimizer_adafactor_factored": False}, {"v/w"}),
        ((5,), False, {}, {"v/w"}),
        ((4, 3), True, {"optimizer_adafactor_beta1": 0.9}, {"rows/w", "columns/w", "m/w"}),
        ((4, 3), True, {"optimizer_adafactor_decay_type": "adam"}, {"rows/w", "columns/w"}),
    ],
)
def test_adafactor(shape, factored, changes, slots):
    start, given = np.random.default_rng(1).normal(size=shape), gradients(shape)
    values, rule = run(HParams(optimizer="adafactor", **changes), start, given)
    expected = adafactor(
        start,
        given,
        factored,
        beta1=changes.get("optimizer_adafactor_beta1", 0.0),
        decay_type=changes.get("optimizer_adafactor_decay_type", "pow"),
    )
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-6)
    assert set(rule.state()) == slots


def test_adafactor_needs_little_memory():
    rule = optimizer.from_hparams(
        HParams(optimizer="adafactor"), {"table": tf.Variable(tf.zeros([1000, 64]))}
    )
    assert sum(int(tf.size(each)) for each in rule.state().values()) == 1000 + 64


def test_multistep_needs_a_number():
    with pytest.raises(UserError, match="optimizer_multistep_accumulate_steps is 0"):
        optimizer.from_hparams(HParams(optimizer="multistep_adam"), {})


@pytest.mark.parametrize(
    ("name", "touched"),
    [
        ("encoder/layer_0/self_attention/query/kernel", True),
        ("encoder/layer_0/self_attention/layer_norm/scale", True),
        ("shared_embedding/weights", True),
        ("encoder/layer_0/self_attention/layer_norm/bias", False),
        ("encoder/layer_0/feed_forward/hidden/bias", False),
    ],
)
def test_weight_decay_spares_biases_alone(name, touched):
    assert optimizer.decays(name) is touched
