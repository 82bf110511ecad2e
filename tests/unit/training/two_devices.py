"""Run by test_distribution.py in a process of its own, since a CPU is cut up before first use.

Prints one JSON object: losses of the same global batches on one device and on two, the weights'
largest difference after them, and what one pass over five sentences on two devices gives.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.config import HParams
from keras_transformer.model.transformer import Transformer
from keras_transformer.training import distribution, train_log
from keras_transformer.training.evaluation import Evaluator
from keras_transformer.training.interruption import Interruption
from keras_transformer.training.loop import Loop, LoopSettings
from keras_transformer.training.progress import Screen
from keras_transformer.training.train_log import TrainLog
from keras_transformer.training.train_state import TrainState
from keras_transformer.training.train_step import TrainStep

HPARAMS = HParams(
    num_hidden_layers=1,
    hidden_size=16,
    filter_size=32,
    num_heads=2,
    layer_prepostprocess_dropout=0.0,
    clip_grad_norm=0.5,
    weight_decay=0.01,
)


def batches(number, rows, seed=0):
    generator = np.random.default_rng(seed)
    for _ in range(number):
        ids = generator.integers(2, 30, (rows, 7))
        for row in ids:
            length = generator.integers(2, 7)
            row[length] = 1
            row[length + 1 :] = 0
        targets = np.roll(ids, 1, axis=1)[:, :5]
        yield {"inputs": tf.constant(ids, tf.int32), "targets": tf.constant(targets, tf.int32)}


def new_step(strategy, accumulate=1):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = Transformer.from_hparams(HPARAMS, 30, 30)
        return TrainStep(model, HPARAMS, strategy, accumulate=accumulate)


def curve(strategy):
    step = new_step(strategy)
    # 5 rows: two devices get 3 and 2 and a row of padding.
    losses = [float(step([batch], n, 2e-3).loss) for n, batch in enumerate(batches(20, 5))]
    weights = {name: variable.numpy() for name, variable in step.model.named_weights().items()}
    figures = Evaluator(step.model, strategy).evaluate(batches(3, 5, seed=9))
    return losses, weights, figures


def accumulated(strategy):
    step = new_step(strategy, accumulate=2)
    pairs = list(batches(8, 4))
    return [
        float(step(pairs[2 * number : 2 * number + 2], number, 2e-3).loss) for number in range(4)
    ]


def one_pass(strategy, run_dir):
    """Five batches of one sentence for two devices, to the end of the data; saved and restored."""
    ids = np.concatenate([batch["inputs"].numpy() for batch in batches(1, 5)])
    dataset = tf.data.Dataset.from_tensor_slices({"inputs": ids, "targets": ids}).batch(1)
    state = TrainState(new_step(strategy), dataset)
    settings = LoopSettings(train_steps=100, save_steps=0, log_steps=1)
    loop = Loop(state, Path(run_dir), settings, TrainLog(run_dir, "five"), Screen(sys.stderr))
    with Interruption() as interruption:
        ending = loop.run(interruption)
    again = TrainState(new_step(strategy), dataset)
    again.restore(run_dir)
    saved, restored = (
        {**each.train_step.model.named_weights(), **each.train_step.state()}
        for each in (state, again)
    )
    return {
        "ending": ending.name,
        "steps": again.step,
        "losses": [record["loss"] for record in train_log.events(run_dir, "train")],
        "restored": all(
            np.array_equal(saved[name].numpy(), restored[name].numpy()) for name in saved
        ),
    }


def main(run_dir):
    two = distribution.strategy(logical_cpus=2)
    one = tf.distribute.get_strategy()
    (loss_one, weights_one, eval_one), (loss_two, weights_two, eval_two) = curve(one), curve(two)
    report = {
        "replicas": two.num_replicas_in_sync,
        "one": loss_one,
        "two": loss_two,
        "difference": max(
            float(np.abs(weights_two[name] - value).max()) for name, value in weights_one.items()
        ),
        "evaluation": [eval_one, eval_two],
        "accumulated": [accumulated(one), accumulated(two)],
        "one_pass": one_pass(two, run_dir),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
