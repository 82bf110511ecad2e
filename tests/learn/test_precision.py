"""Lower precision learns as well as float32, to a loss that is not zero: 1 % of it is little."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import HParams
from keras_transformer.model.transformer import Transformer
from keras_transformer.training.evaluation import Evaluator
from keras_transformer.training.schedule import learning_rate
from keras_transformer.training.train_step import TrainStep

SYMBOLS, LENGTH, ROWS, STEPS = 20, 10, 48, 400
# Each symbol is turned round with this probability, or else drawn anew.
RIGHT = 0.7
SETTINGS = dict(
    num_hidden_layers=2,
    hidden_size=64,
    filter_size=128,
    num_heads=4,
    batch_size=ROWS * LENGTH,
    learning_rate_constant=1.0,
    learning_rate_warmup_steps=200,
    layer_prepostprocess_dropout=0.0,
    label_smoothing=0.0,
)


def batches(number, seed):
    """The source backwards, with noise that nobody can foresee."""
    generator = np.random.default_rng(seed)
    for _ in range(number):
        source = generator.integers(2, 2 + SYMBOLS, [ROWS, LENGTH])
        noise = generator.integers(2, 2 + SYMBOLS, [ROWS, LENGTH])
        target = np.where(generator.random([ROWS, LENGTH]) < RIGHT, source[:, ::-1], noise)
        yield {
            name: tf.constant(np.pad(ids, [[0, 0], [0, 1]], constant_values=1), tf.int32)
            for name, ids in (("inputs", source), ("targets", target))
        }


def least_loss():
    """Nats a position of who knows the rule: the entropy of a symbol, and none for the end."""
    right = RIGHT + (1 - RIGHT) / SYMBOLS
    wrong = (1 - RIGHT) / SYMBOLS
    entropy = -right * np.log(right) - (SYMBOLS - 1) * wrong * np.log(wrong)
    return entropy * LENGTH / (LENGTH + 1)


def trained_loss(dtype):
    hparams = HParams(**SETTINGS, activation_dtype=dtype)
    tf.keras.utils.set_random_seed(1)
    model = Transformer.from_hparams(hparams, 2 + SYMBOLS, 2 + SYMBOLS)
    assert model.compute_dtype == dtype
    strategy = tf.distribute.get_strategy()
    step = TrainStep(model, hparams, strategy)
    for number, batch in enumerate(batches(STEPS, seed=2)):
        step([batch], number, learning_rate(hparams, number))
    return Evaluator(model, strategy).evaluate(batches(20, seed=3))["loss"]


@pytest.fixture(scope="module")
def float32_loss():
    return trained_loss("float32")


@pytest.mark.slow
def test_float32_learns_all_that_can_be_learnt(float32_loss):
    assert least_loss() < float32_loss < 1.1 * least_loss()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_lower_precision_reaches_the_loss_of_float32(dtype, float32_loss):
    assert trained_loss(dtype) == pytest.approx(float32_loss, rel=0.01)
