"""Position signals against Tensor2Tensor's and the paper's formula."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.position import (
    LearnedPositions,
    TimingSignal,
    paper_timing_signal,
    timing_signal,
)

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "attention" / "attention.npz")
INPUTS = np.random.default_rng(1).normal(size=(2, 3, 8)).astype("float32")
POSITIONS = np.array([[0, 1, 0], [5, 2, 1]], "int32")


@pytest.mark.parametrize("arrays", [{"inputs": INPUTS}, {"inputs": INPUTS, "positions": POSITIONS}])
@pytest.mark.parametrize(
    ("layer_class", "arguments"),
    [
        (TimingSignal, {}),
        (TimingSignal, {"paper": True}),
        (LearnedPositions, {"max_length": 4}),
    ],
)
def test_contract(check_layer, layer_class, arguments, arrays):
    check_layer(layer_class, arguments, arrays)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("timing_signal_1d")])
def test_numbers_of_t2t(name):
    numbers = {key: int(value) for key, value in re.findall(r"([a-z]+)(\d+)", name)}
    start = numbers.get("start", 0)
    ours = timing_signal(
        tf.range(start, start + numbers["length"]),
        numbers["channels"],
        numbers.get("min", 1.0),
        numbers.get("max", 1.0e4),
    )
    tolerance = 1e-4 if numbers["length"] >= 300 else 1e-5
    np.testing.assert_allclose(ours[tf.newaxis], GOLDEN[name], atol=tolerance)


def test_signal_is_added():
    outputs = TimingSignal()(GOLDEN["add_timing_signal_1d.x"])
    np.testing.assert_allclose(outputs, GOLDEN["add_timing_signal_1d.out"], atol=1e-5)


@pytest.mark.parametrize("width", [2, 5, 8])
def test_formula_of_the_paper(width):
    expected = np.zeros((20, width))
    for position in range(20):
        for i in range(0, width, 2):
            angle = position / 10000 ** (i / width)
            expected[position, i] = math.sin(angle)
            if i + 1 < width:
                expected[position, i + 1] = math.cos(angle)
    np.testing.assert_allclose(paper_timing_signal(tf.range(20), width), expected, atol=1e-5)


def test_given_positions_take_the_signal_of_their_number():
    signal = timing_signal(tf.range(6), 8).numpy()
    outputs = TimingSignal()(np.zeros_like(INPUTS), positions=POSITIONS)
    np.testing.assert_allclose(outputs, signal[POSITIONS], atol=1e-6)


def test_learned_positions_add_zeros_beyond_their_table():
    layer = LearnedPositions(2)
    outputs = layer(INPUTS).numpy() - INPUTS
    np.testing.assert_allclose(outputs[:, :2], [layer.table.numpy()] * 2, atol=1e-6)
    np.testing.assert_array_equal(outputs[:, 2], np.zeros((2, 8)))
    given = layer(INPUTS, positions=POSITIONS).numpy() - INPUTS
    np.testing.assert_array_equal(given[POSITIONS >= 2], np.zeros((2, 8)))
    np.testing.assert_allclose(given[0, 0], layer.table[0], atol=1e-6)
