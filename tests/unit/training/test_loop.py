"""The loop: when it saves, why it stops, and what it does with an update that is not finite."""

from __future__ import annotations

import io
import os
import signal

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import HParams
from keras_transformer.errors import UserError
from keras_transformer.model.transformer import Transformer
from keras_transformer.training import checkpoints, train_log
from keras_transformer.training.interruption import Interruption
from keras_transformer.training.loop import Ending, Loop, LoopSettings
from keras_transformer.training.nan_watch import DivergedError
from keras_transformer.training.progress import Screen
from keras_transformer.training.train_log import TrainLog
from keras_transformer.training.train_state import TrainState
from keras_transformer.training.train_step import TrainStep

HPARAMS = HParams(num_hidden_layers=1, hidden_size=8, filter_size=8, num_heads=2)


@pytest.fixture(scope="module")
def step():
    """One compiled update for all tests here; what each leaves in the weights does not matter."""
    return TrainStep(
        Transformer.from_hparams(HPARAMS, 12, 12), HPARAMS, tf.distribute.get_strategy()
    )


@pytest.fixture
def state(step):
    ids = np.array([[2, 3, 1], [5, 6, 1]], np.int32)
    # As the module's step was compiled before, nothing is traced again.
    made = TrainState(step, tf.data.Dataset.from_tensors({"inputs": ids, "targets": ids}).repeat(9))
    made.start = lambda: None
    return made


def run(state, folder, interrupt_at=None, after_checkpoint=None, describe=None, **settings):
    screen = io.StringIO()
    given = {"after_checkpoint": after_checkpoint} if after_checkpoint else {}
    loop = Loop(
        state,
        folder,
        LoopSettings(**{"train_steps": 6, "log_steps": 2, "save_steps": 0} | settings),
        TrainLog(folder, "two"),
        Screen(screen),
        describe=describe,
        **given,
    )
    with Interruption() as interruption:
        if interrupt_at is not None:
            update = loop._update

            def with_signal():
                if state.step == interrupt_at:
                    os.kill(os.getpid(), signal.SIGTERM)
                return update()

            loop._update = with_signal
        ending = loop.run(interruption)
    return ending, screen.getvalue(), interruption


def test_all_steps(state, tmp_path):
    seen = []
    ending, said, _ = run(
        state, tmp_path, save_steps=4, after_checkpoint=lambda *given: seen.append(given) or False
    )
    assert ending is Ending.FINISHED
    assert checkpoints.all_steps(tmp_path) == [4, 6]
    assert [(checkpoints.step_of(prefix), last) for prefix, last in seen] == [(4, False), (6, True)]
    assert [e["step"] for e in train_log.events(tmp_path, "train")] == [2, 4, 6]
    assert said.startswith("step 1: loss ") and "step 6/6 " in said


def test_a_run_whose_checkpoints_are_lost_does_not_begin_anew(state, tmp_path):
    assert state.restore(tmp_path) is None
    prefix = state.save(tmp_path)
    os.remove(f"{prefix}.data-00000-of-00001")

    with pytest.raises(UserError, match="was trained before, but no checkpoint there is whole"):
        state.restore(tmp_path)


def test_the_end_of_the_data(state, tmp_path):
    ending, _, _ = run(state, tmp_path, train_steps=100)
    assert (ending, state.step) == (Ending.DATA, 9)
    assert checkpoints.latest(tmp_path).endswith("-9")


def test_time(state, tmp_path):
    ending, _, _ = run(state, tmp_path, train_seconds=1e-9)
    assert ending is Ending.TIME


def test_checkpoints_by_time(state, tmp_path):
    run(state, tmp_path, save_seconds=1e-9)
    assert checkpoints.all_steps(tmp_path) == [1, 2, 3, 4, 5, 6]


def test_stopped_by_the_evaluation(state, tmp_path):
    ending, _, _ = run(
        state, tmp_path, save_steps=2, after_checkpoint=lambda prefix, is_last: "-4" in prefix
    )
    assert ending is Ending.EARLY
    assert checkpoints.all_steps(tmp_path) == [2, 4]


def test_a_signal_saves_without_evaluating(state, tmp_path):
    def never(prefix, is_last):
        raise AssertionError("evaluated")

    ending, _, interruption = run(state, tmp_path, interrupt_at=2, after_checkpoint=never)
    assert ending is Ending.INTERRUPTED
    assert interruption.exit_status == 143
    assert checkpoints.all_steps(tmp_path) == [3]  # the step that was under way was finished


@pytest.fixture
def poisoned(state):
    scale = state.train_step.model.named_weights()[
        "encoder/layer_0/self_attention/layer_norm/scale"
    ]
    good = scale.numpy()
    scale.assign(np.full_like(good, np.nan))
    yield state
    scale.assign(good)


def test_not_a_number_stops(poisoned, tmp_path):
    with pytest.raises(DivergedError, match=r"step 0: loss nan.*nan_batch-0\.npz"):
        run(poisoned, tmp_path, describe=lambda batch: ["a house\tein Haus"] * 2)
    arrays = np.load(tmp_path / "nan_batch-0.npz")
    np.testing.assert_array_equal(arrays["0/inputs"], [[2, 3, 1], [5, 6, 1]])
    assert (tmp_path / "nan_batch-0.txt").read_text() == "a house\tein Haus\n" * 2
    assert checkpoints.all_steps(tmp_path) == []


def test_not_a_number_is_skipped_and_counted(poisoned, tmp_path):
    ending, said, _ = run(poisoned, tmp_path, skip_nan=True, train_steps=3)
    assert ending is Ending.FINISHED
    assert "skipped, 3 so far" in said
    assert len(list(train_log.events(tmp_path, "nan"))) == 3
    assert checkpoints.read(checkpoints.latest(tmp_path)).train_state["skipped_updates"] == 3


def test_a_trial_changes_nothing(state):
    state.train_step([*state.next_batches()], 0, 1e-3)
    before = {n: v.numpy() for n, v in state.train_step.model.named_weights().items()}
    before |= {n: v.numpy() for n, v in state.train_step.state().items()}
    result = state.train_step.try_out(state.next_batches()[0])
    assert np.isfinite(float(result.loss))
    after = {**state.train_step.model.named_weights(), **state.train_step.state()}
    for name, value in before.items():
        np.testing.assert_array_equal(after[name].numpy(), value, err_msg=name)


def test_a_position_of_another_form_is_not_taken_up(step, tmp_path, caplog):
    ids = np.array([[2, 3, 1]], np.int32)
    numbered = [{"inputs": ids + n, "targets": ids + n} for n in range(4)]
    arrays = {side: np.stack([each[side] for each in numbered]) for side in ("inputs", "targets")}
    dataset = tf.data.Dataset.from_tensor_slices(arrays)

    def made(dataset, form):
        return TrainState(step, dataset, {"the form of a position": form})

    old = made(dataset, 1)
    old.next_batches()
    old.save(tmp_path)
    # What the pipeline is made of has changed, so TensorFlow could not read the position at all.
    new = made(dataset.map(lambda batch: batch).prefetch(2), 2)
    new.restore(tmp_path)
    assert "read in a new order, since the form of a position changed" in caplog.text
    np.testing.assert_array_equal(new.next_batches()[0]["inputs"], numbered[0]["inputs"])
    caplog.clear()
    again = made(dataset, 1)
    again.restore(tmp_path)
    assert not caplog.text
    np.testing.assert_array_equal(again.next_batches()[0]["inputs"], numbered[1]["inputs"])
