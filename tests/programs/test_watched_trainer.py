"""What `kt-trainer` shows and tries: TensorBoard, profile, memory, XLA, evaluation beside it."""

from __future__ import annotations

import json
import shutil
import threading
import time

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.cli.trainer import main
from keras_transformer.training import checkpoints, train_log, trainer
from keras_transformer.training.train_step import TrainStep
from tests.unit.training.tensorboard_files import values

TINY = (
    "tiny,num_hidden_layers=1,hidden_size=16,num_heads=2,filter_size=32,batch_size=60,"
    "batch_shuffle_size=8,learning_rate_warmup_steps=10"
)
SIDES = {"source": "src", "target": "tgt"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Twelve pairs of three words; data is made once, by the first run."""
    folder = tmp_path_factory.mktemp("corpus")
    words = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]
    for name in ("train", "dev"):
        for ending, entries in (("src", "abcdefghij"), ("tgt", words)):
            lines = [" ".join(entries[(n + k) % 10] for k in range(3)) for n in range(10)]
            (folder / f"{name}.{ending}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def arguments(corpus):
    """The flags of a run of ours."""
    files = [f"--{s}_{k}={corpus}/{s}.{e}" for s in ("train", "dev") for k, e in SIDES.items()]

    def given(run_dir, *more, settings=TINY):
        flags = ["--problem=text2text", "--vocab_size=80", *files, f"--data_dir={corpus}/data"]
        return [*flags, f"--output_dir={run_dir}", f"--hparams={settings}", *more]

    return given


def tensors(run_dir):
    reader = checkpoints.read(checkpoints.latest(run_dir))
    left_out = (checkpoints.DATA_ITERATOR, checkpoints.TRAIN_STATE)
    return {name: reader.tensor(name) for name in reader.names() if name not in left_out}


@pytest.fixture(scope="module")
def plain(arguments, tmp_path_factory):
    """Sixteen updates, evaluated twice."""
    run_dir = tmp_path_factory.mktemp("runs") / "plain"
    flags = ["--train_steps=16", "--local_eval_frequency=8", "--log_step_count_steps=4"]
    flags += ["--eval_throttle_seconds=0", "--deterministic"]
    assert main(arguments(run_dir, *flags)) == 0
    return run_dir


@pytest.mark.slow
def test_tensorboard_shows_what_was_logged(plain):
    training, evaluation = values(plain), values(plain / "eval")
    records = list(train_log.events(plain, "train"))
    assert [record["step"] for record in records] == [4, 8, 12, 16]
    for record in records:
        for name in ("loss", "learning_rate", "gradient_norm", "target_tokens_per_second"):
            assert training[name, record["step"]] == pytest.approx(record[name], rel=1e-6)
        speed = training["global_step/sec", record["step"]]
        assert speed == pytest.approx(record["steps_per_second"])
        # Six sentences of three words and an end, on both sides.
        for side in ("source", "target"):
            assert record[f"{side}_tokens_per_update"] == 24
            assert record[f"{side}_tokens_per_second"] == pytest.approx(24 * speed)
    for step in (8, 16):
        assert evaluation["loss", step] > 0
        for name in ("encoder/layer_0/self", "decoder/layer_0/self", "decoder/layer_0/cross"):
            width, height, png = evaluation[f"attention/{name}_attention", step]
            picture = tf.io.decode_png(png).numpy()
            assert picture.shape == (int(height), int(width), 3)
            assert picture.shape[:2] == (4 * 16, 4 * 16) and len(png) < 5000
            assert picture.max() > 128
            # The first output position looks at itself alone.
            assert name != "decoder/layer_0/self" or picture[0, -1].max() < picture[0, 0].max()
        source, target = evaluation["attention/sentences", step].item().decode().split("\t")
        assert len(source.split()) == len(target.split()) == 3


@pytest.mark.slow
def test_a_trial_of_memory_and_a_profile_change_no_weight(plain, arguments, tmp_path, capfd):
    flags = ["--train_steps=16", "--schedule=train", "--deterministic"]
    assert main(arguments(tmp_path / "run", *flags, "--check_memory", "--profile")) == 0
    assert f"a profile is in {tmp_path}/run/plugins" in capfd.readouterr().err
    (profile,) = (tmp_path / "run" / "plugins" / "profile").glob("*/*.xplane.pb")
    assert profile.stat().st_size > 1000
    expected = tensors(plain)
    for name, value in tensors(tmp_path / "run").items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


@pytest.mark.slow
def test_too_little_memory_is_found_before_the_first_update(
    arguments, tmp_path, monkeypatch, capfd
):
    tried = []

    def full(step, batch):
        tried.append({name: tuple(ids.shape) for name, ids in batch.items()})
        raise tf.errors.ResourceExhaustedError(None, None, "out of memory")

    monkeypatch.setattr(TrainStep, "try_out", full)
    settings = TINY + ",max_length=40"
    flags = ["--train_steps=2", "--schedule=train", "--check_memory"]
    assert main(arguments(tmp_path / "run", *flags, settings=settings)) == 2
    said = capfd.readouterr().err
    # The bucket below 30, not the longest one: 2 · 29² pairs of positions are more than 40².
    assert tried == [{"inputs": (2, 29), "targets": (2, 29)}]
    assert "a batch of 2 sentences of 29 subtokens" in said and "batch_size (now 60)" in said
    assert not checkpoints.all_steps(tmp_path / "run")


@pytest.mark.slow
def test_updates_far_below_the_recipe_s_are_warned_of(arguments, tmp_path, capfd):
    base = "base,num_hidden_layers=1,filter_size=8,batch_size=1024"
    run_dir = tmp_path / "run"
    assert main(arguments(run_dir, "--train_steps=0", settings=base)) == 0
    said = capfd.readouterr().err
    assert "an update takes up to 1,024 positions a side" in said
    assert "base was made for 8 devices and 32,768 positions an update, here are 1,024" in said
    assert "--simulate_replicas=32" in said
    again = arguments(run_dir, "--train_steps=0", "--simulate_replicas=32", settings=base)
    assert main(again) == 0
    said = capfd.readouterr().err
    assert "an update takes up to 32,768 positions" in said and "was made for" not in said


@pytest.mark.slow
def test_with_xla_shapes_are_few_and_logged(arguments, tmp_path, capfd):
    run_dir, flags = tmp_path / "run", ["--train_steps=6", "--schedule=train", "--jit"]
    assert main(arguments(run_dir, *flags, "--log_step_count_steps=1")) == 0
    # All sentences are in the first bucket, of up to 7 subtokens.
    (compiled,) = train_log.events(run_dir, "compile")
    most = compiled["most"]
    assert (compiled["shape"], compiled["number"]) == ([6, 7, 7], 1) and 20 < most < 42
    said = capfd.readouterr().err
    assert f"XLA compiled for batches of 6 x 7 x 7: shape 1 of {most}" in said
    losses = [record["loss"] for record in train_log.events(run_dir, "train")]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]


@pytest.mark.slow
def test_each_new_checkpoint_is_evaluated_beside_the_training(plain, tmp_path, monkeypatch):
    run_dir = tmp_path / "run"
    shutil.copytree(plain, run_dir)
    (run_dir / "train_log.jsonl").unlink()
    monkeypatch.setattr(trainer, "POLL_EVERY", 0.05)
    checkpoints.write_list_file(run_dir, ["model.ckpt-8"])

    def train_on():
        """What the trainer of the run does meanwhile: its next checkpoint."""
        limit = time.monotonic() + 120
        while not list(train_log.events(run_dir, "eval")) and time.monotonic() < limit:
            time.sleep(0.05)
        checkpoints.write_list_file(run_dir, ["model.ckpt-8", "model.ckpt-16"])

    thread = threading.Thread(target=train_on)
    thread.start()
    flags = [f"--output_dir={run_dir}", "--schedule=continuous_eval", "--train_steps=16"]
    assert main(flags) == 0
    thread.join()
    records = list(train_log.events(run_dir, "eval"))
    assert [record["step"] for record in records] == [8, 16]
    before = {record["step"]: record["loss"] for record in train_log.events(plain, "eval")}
    for record in records:
        assert record["loss"] == pytest.approx(before[record["step"]], rel=1e-5)
    assert ("loss", 16) in values(run_dir / "eval_continuous")


@pytest.mark.slow
def test_a_best_checkpoint_not_yet_kept_apart_is_made_up_for(plain, arguments, tmp_path):
    """As if the trainer had been killed after an evaluation, before its copy of the checkpoint."""
    run_dir = tmp_path / "run"
    shutil.copytree(plain, run_dir)
    with (run_dir / "train_log.jsonl").open("a") as log:
        for step, score in ((8, 30.0), (16, 20.0)):
            record = {"event": "eval", "step": step, "split": "dev", "bleu_sacrebleu": score}
            log.write(json.dumps(record) + "\n")
    assert main(arguments(run_dir, "--train_steps=16", "--eval_decode")) == 0
    assert checkpoints.all_steps(run_dir / "best") == [8]
