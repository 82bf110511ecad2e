"""Every tiny model of Tensor2Tensor gives the numbers Tensor2Tensor gave.

The checkpoints lie in tests/golden/models; ORIGIN.md there names the arrays and tolerances.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding.active_rows import growing_shapes, start_cache
from keras_transformer.t2t_compat.loader import load_model
from keras_transformer.training.loss import padded_cross_entropy

GOLDEN = Path(__file__).parents[2] / "golden" / "models"
NAMES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
# Label smoothing in evaluation mode too.
SMOOTHED_EVALUATION = ("t2t_1.0", "t2t_1.1", "t2t_1.2", "t2t_1.3", "t2t_1.4", "t2t_1.6")


def load(name):
    folder = GOLDEN / name
    problem = json.loads((folder / "problem.json").read_text())
    model = load_model(folder, target_space_id=problem["target_space_id"])
    hparams = json.loads((folder / "hparams.json").read_text())
    model.zero_feed_forward_at_padding = hparams.get("use_pad_remover", False)
    return model, dict(np.load(folder / "expected.npz"))


def features(expected):
    return {"inputs": expected["inputs"], "targets": expected["targets"]}


@pytest.mark.parametrize("name", NAMES)
def test_outputs_and_losses(name):
    model, expected = load(name)
    logits = model(features(expected))
    assert logits.dtype == tf.float32
    np.testing.assert_allclose(
        logits.numpy()[expected["logits_rows"]], expected["logits"], rtol=0, atol=2e-4
    )
    encoded = model.encode(expected["inputs"]).numpy()[: len(expected["encoder_output"])]
    np.testing.assert_allclose(encoded, expected["encoder_output"], rtol=0, atol=1e-4)

    targets = expected["targets"]
    smoothed, tokens = padded_cross_entropy(logits, targets, 0.1)
    np.testing.assert_allclose(smoothed, expected["train_nodropout_loss_num"], rtol=1e-4)
    assert tokens == expected["train_nodropout_loss_den"] == expected["eval_loss_den"]
    plain = smoothed
    if not name.startswith(SMOOTHED_EVALUATION):
        plain, _ = padded_cross_entropy(logits, targets)
    np.testing.assert_allclose(plain, expected["eval_loss_num"], rtol=1e-4)


# One for each way to decode: norms, positions, tables, widths, biases.
@pytest.mark.parametrize(
    "name",
    [
        "base_v3",
        "key_value_channels",
        "learned_positions",
        "no_sharing",
        "t2t_1.0.14_post_norm_shared",
    ],
)
def test_decoding_step_by_step_gives_the_same_logits(name):
    model, expected = load(name)
    inputs, targets = expected["inputs"], expected["targets"][:, :12]
    whole = model({"inputs": inputs, "targets": targets}).numpy()
    stepwise = tf.function(stepwise_logits, autograph=False)
    logits = stepwise(model, tf.constant(inputs), tf.constant(targets))
    np.testing.assert_allclose(logits, whole, rtol=0, atol=1e-4)


def stepwise_logits(model, inputs, targets):
    """Logits [B, T, V] of one beam that follows the targets beside one that strays."""
    decode_step = model.step_function()
    steps = targets.shape[1]

    def take_step(step, ids, cache, logits):
        step_logits, cache = decode_step(ids, step, cache)
        ids = tf.stack([targets[:, step], targets[:, step] // 2 + 1], axis=1)
        return step + 1, ids, cache, logits.write(step, step_logits[:, 0])

    state = (
        tf.constant(0),
        tf.zeros([inputs.shape[0], 2], tf.int32),
        start_cache(model.start_decoding(inputs), inputs.shape[0], 2),
        tf.TensorArray(tf.float32, steps),
    )
    *_, logits = tf.while_loop(
        lambda step, *_: step < steps,
        take_step,
        state,
        shape_invariants=(*growing_shapes(state[:3]), tf.TensorShape(None)),
    )
    return tf.transpose(logits.stack(), [1, 0, 2])


@pytest.mark.parametrize("name", ["base_v1", "base_v3"])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("mixed_bfloat16", 0.02), ("mixed_float16", 0.003)]
)
def test_16_bit_activations_cost_little_accuracy(name, dtype, tolerance):
    model, expected = load(name)
    config = {**model.get_config(), "dtype": dtype}
    narrow = type(model).from_config(config)
    narrow.set_weights(model.get_weights())
    logits = narrow(features(expected))
    assert logits.dtype == tf.float32
    loss, tokens = padded_cross_entropy(logits, expected["targets"])
    exact = expected["eval_loss_num"] / expected["eval_loss_den"]
    np.testing.assert_allclose(loss / tokens, exact, rtol=tolerance)
