"""Updates against recorded runs of T2T 1.15.7 (tests/golden/optimizer), and their invariants."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import FIELDS, HParams
from keras_transformer.model.transformer import Transformer
from keras_transformer.t2t_compat.layout import detect_layout
from keras_transformer.t2t_compat.weights import weight_sources
from keras_transformer.training.schedule import learning_rate
from keras_transformer.training.train_step import TrainStep

GOLDEN = Path(__file__).parents[2] / "golden" / "optimizer"
RUNS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
TARGET_SPACE = 3  # the runs' target_space_id


class Run:
    """One recorded run: settings, batches, and every value by the model's names."""

    def __init__(self, name: str):
        self.numbers = dict(np.load(GOLDEN / name / "run.npz"))
        recorded = json.loads((GOLDEN / name / "run.json").read_text())
        # The recording also set hyperparameters that no Transformer reads (`dropout`).
        self.hparams = HParams.from_dict(
            {key: value for key, value in recorded["hparams"].items() if key in FIELDS}
        )
        initial = self.under("initial/")
        layout = detect_layout({key: value.shape for key, value in initial.items()})
        self.sources = weight_sources(layout)
        self.model = Transformer.from_hparams(
            self.hparams,
            layout.padded_vocab_sizes["inputs"],
            layout.padded_vocab_sizes["targets"],
            target_space_id=TARGET_SPACE,
        )
        for weight, variable in self.model.named_weights().items():
            variable.assign(self.sources[weight].read(initial.__getitem__))

    def under(self, prefix: str) -> dict[str, np.ndarray]:
        length = len(prefix)
        return {k[length:]: v for k, v in self.numbers.items() if k.startswith(prefix)}

    def values(self, prefix: str, suffix: str = "") -> dict[str, np.ndarray]:
        tensors = self.under(prefix)
        return {n: s.read(tensors.__getitem__, suffix) for n, s in self.sources.items()}

    def batch(self, step: int) -> dict[str, tf.Tensor]:
        return {side: tf.constant(self.numbers[side][step]) for side in ("inputs", "targets")}


def assert_close_where_it_counts(ours, theirs, gradient, name):
    # With epsilon 1e-9 Adam turns rounding noise of a vanishing gradient into a full step.
    counts = np.abs(gradient) >= 1e-5
    difference = np.abs(ours - theirs)
    assert difference[counts].max(initial=0) < 1e-4, name
    assert (difference >= 1e-4).sum() <= 30, name


@pytest.mark.parametrize("name", RUNS)
def test_recorded_run(name):
    run = Run(name)
    step = TrainStep(run.model, run.hparams, tf.distribute.get_strategy())
    recorded = run.under("per_step/")
    gradients = run.values("gradient_step0/")
    decay = run.hparams.weight_decay
    if decay:
        # The recorded gradients and norms are those of the loss alone, without the L2 term.
        for weight, value in run.values("initial/").items():
            gradients[weight] += decay * value * (not weight.endswith("bias"))
        recorded["gnorm"][0] = np.sqrt(sum((g**2).sum() for g in gradients.values()))
    for number, loss in enumerate(recorded["loss"]):
        rate = learning_rate(run.hparams, number)
        assert rate == pytest.approx(float(recorded["lr"][number]), rel=1e-5, abs=1e-12)
        result = step([run.batch(number)], number, rate)
        assert bool(result.finite)
        assert float(result.loss) == pytest.approx(float(loss), rel=1e-4)
        assert float(result.target_tokens) == recorded["loss_den"][number]
        if number == 0 or not decay:
            assert float(result.gradient_norm) == pytest.approx(
                float(recorded["gnorm"][number]), rel=1e-4
            )
        if number == 0:
            # The first moment, or the sum of gradients, holds the gradient of the first step.
            slot, part = ("accumulated", 1.0) if name == "multistep2" else ("m", 0.1)
            clip = run.hparams.clip_grad_norm
            clipped = min(1.0, clip / recorded["gnorm"][0]) if clip else 1.0
            for weight, gradient in gradients.items():
                ours = step.optimizer.slots(weight)[slot].numpy() / (part * clipped)
                np.testing.assert_allclose(ours, gradient, atol=1e-5, err_msg=weight)
        if f"after_step{number}" in {key.partition("/")[0] for key in run.numbers}:
            after = run.values(f"after_step{number}/")
            for weight, variable in run.model.named_weights().items():
                assert_close_where_it_counts(
                    variable.numpy(), after[weight], gradients[weight], weight
                )
    moments = {
        "m": run.values("other_variables_at_end/", "Adam"),
        "v": run.values("other_variables_at_end/", "Adam_1"),
    }
    for slot, expected in moments.items():
        for weight, value in expected.items():
            np.testing.assert_allclose(
                step.optimizer.slots(weight)[slot].numpy(), value, atol=1e-5, err_msg=weight
            )
    at_end = run.under("other_variables_at_end/training/")
    for power in ("beta1_power", "beta2_power"):
        assert float(step.optimizer.scalars[power]) == pytest.approx(float(at_end[power]))


def small(**changes):
    hparams = HParams(num_hidden_layers=1, hidden_size=16, filter_size=32, num_heads=2, **changes)
    tf.keras.utils.set_random_seed(1)
    return hparams, Transformer.from_hparams(hparams, 30, 30)


def batch_of(*lengths, seed=0):
    generator = np.random.default_rng(seed)
    rows = [[*generator.integers(2, 30, length), 1] for length in lengths]
    width = max(map(len, rows))
    ids = tf.constant([row + [0] * (width - len(row)) for row in rows], tf.int32)
    return {"inputs": ids, "targets": ids}


def weights_of(model):
    return {name: variable.numpy() for name, variable in model.named_weights().items()}


def test_accumulated_batches_make_the_step_of_the_large_batch():
    # 5 and 11 target tokens a row: a mean of means would weigh the short rows double.
    one, two = batch_of(4, 4), batch_of(10, seed=1)
    rows = [*one["inputs"].numpy().tolist(), *two["inputs"].numpy().tolist()]
    both = tf.constant([row + [0] * (11 - len(row)) for row in rows], tf.int32)
    results = []
    for batches in ([one, two], [{"inputs": both, "targets": both}]):
        hparams, model = small(layer_prepostprocess_dropout=0.0)
        step = TrainStep(model, hparams, tf.distribute.get_strategy(), accumulate=len(batches))
        for number in range(3):
            result = step(batches, number, 1e-3)
        results.append((result, weights_of(model)))
    (accumulated, ours), (at_once, expected) = results
    assert float(accumulated.loss) == pytest.approx(float(at_once.loss), rel=1e-5)
    assert float(accumulated.target_tokens) == float(at_once.target_tokens) == 21
    for name, value in expected.items():
        np.testing.assert_allclose(ours[name], value, atol=2e-5, err_msg=name)


def test_a_step_that_is_not_finite_changes_nothing():
    hparams, model = small()
    step = TrainStep(model, hparams, tf.distribute.get_strategy())
    step([batch_of(3, 5)], 0, 1e-3)
    poisoned_name = "encoder/layer_0/feed_forward/layer_norm/scale"
    poisoned = model.named_weights()[poisoned_name]
    before = poisoned.numpy().copy()
    poisoned.assign(np.full_like(before, np.nan))
    kept = {n: v for n, v in weights_of(model).items() if n != poisoned_name}
    state = {name: each.numpy() for name, each in step.state().items()}
    result = step([batch_of(3, 5)], 1, 1e-3)
    assert not bool(result.finite)
    for name, value in kept.items():
        np.testing.assert_array_equal(weights_of(model)[name], value, err_msg=name)
    for name, value in state.items():
        np.testing.assert_array_equal(step.state()[name].numpy(), value, err_msg=name)
    poisoned.assign(before)
    assert bool(step([batch_of(3, 5)], 2, 1e-3).finite)


def test_noise_of_dropout_is_a_function_of_seed_and_step():
    losses = {}
    for seed, number in ((7, 3), (7, 3), (7, 4), (8, 3)):
        hparams, model = small(layer_prepostprocess_dropout=0.5)
        step = TrainStep(model, hparams, tf.distribute.get_strategy(), seed=seed)
        losses.setdefault((seed, number), set()).add(float(step([batch_of(9)], number, 0.0).loss))
    assert all(len(values) == 1 for values in losses.values())
    assert len(set.union(*losses.values())) == 3


def test_a_batch_of_padding_alone_is_no_division_by_zero():
    hparams, model = small()
    step = TrainStep(model, hparams, tf.distribute.get_strategy())
    empty = {side: tf.zeros([2, 3], tf.int32) for side in ("inputs", "targets")}
    result = step([empty], 0, 1e-3)
    assert (float(result.loss), bool(result.finite)) == (0.0, True)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_lower_precision_follows_float32(dtype):
    losses = {}
    for each in ("float32", dtype):
        hparams, model = small(layer_prepostprocess_dropout=0.0, activation_dtype=each)
        step = TrainStep(model, hparams, tf.distribute.get_strategy())
        losses[each] = [
            float(step([batch_of(6, 4, 9, 7)], number, 3e-3).loss) for number in range(20)
        ]
        assert {v.dtype for v in model.named_weights().values()} == {"float32"}
    assert losses["float32"][-1] < 0.9 * losses["float32"][0]
    np.testing.assert_allclose(losses[dtype], losses["float32"], rtol=0.02)


def test_float16_skips_overflow_and_halves_the_scale():
    hparams, model = small(
        activation_dtype="float16",
        batch_size=32,
        mixed_precision_optimizer_init_loss_scale=2**30,
    )
    step = TrainStep(model, hparams, tf.distribute.get_strategy())
    first, second = (step([batch_of(6, 4)], number, 1e-3) for number in range(2))
    assert not bool(first.finite) and np.isfinite(float(first.loss))
    assert not bool(second.finite)
    assert float(step.state()["optimizer/loss_scale"]) == 2**29
    for number in range(2, 60):
        if bool(step([batch_of(6, 4)], number, 1e-3).finite):
            break
    else:
        pytest.fail("the scale never became small enough")


def test_with_xla_batches_share_shapes_and_the_loss_is_the_same():
    # (inputs, targets) of unlike lengths: eight shapes as they come, three in buckets.
    lengths = [(3, 5), (5, 3), (7, 6), (8, 12), (12, 9), (11, 2), (14, 15), (15, 14)]
    losses = {}
    for jit in (False, True):
        hparams, model = small(layer_prepostprocess_dropout=0.0)
        step = TrainStep(
            model, hparams, tf.distribute.get_strategy(), jit=jit, jit_lengths=[7, 12, 16]
        )
        batches = [
            {"inputs": batch_of(s - 1, 1)["inputs"], "targets": batch_of(1, t - 1)["targets"]}
            for s, t in lengths
        ]
        results = [step([batch], number, 3e-3) for number, batch in enumerate(batches)]
        losses[jit] = [float(result.loss) for result in results]
        assert [float(r.target_tokens) for r in results] == [t + 2 for _, t in lengths]
    assert step.compiled_shapes == [(2, 7, 7), (2, 12, 12), (2, 16, 16)]
    assert losses[True][-1] < losses[True][0]
    np.testing.assert_allclose(losses[True], losses[False], rtol=1e-4)


def test_a_trial_leaves_weights_moments_and_noise_as_they_are():
    def two_updates(tries):
        hparams, model = small(layer_prepostprocess_dropout=0.3)
        step = TrainStep(model, hparams, tf.distribute.get_strategy(), accumulate=2)
        losses = []
        for number in range(2):
            if tries:
                result = step.try_out(batch_of(12, 12, 12))
                assert float(result.target_tokens) == 39 and float(result.gradient_norm) > 0
            losses.append(float(step([batch_of(6, 4), batch_of(9)], number, 1e-3).loss))
        return losses, {**weights_of(model), **{n: v.numpy() for n, v in step.state().items()}}

    (losses, values), (expected_losses, expected) = two_updates(True), two_updates(False)
    assert losses == expected_losses
    for name, value in expected.items():
        np.testing.assert_array_equal(values[name], value, err_msg=name)
