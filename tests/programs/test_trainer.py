"""`kt-trainer` as a user calls it: a run from text to a scored model, and every way it may end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.cli.trainer import main
from keras_transformer.training import checkpoints

ROOT = Path(__file__).parents[2]
TINY = (
    "tiny,num_hidden_layers=1,hidden_size=16,num_heads=2,filter_size=32,batch_size=60,"
    "batch_shuffle_size=8,learning_rate_warmup_steps=10"
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Twelve pairs; data is made once, by the first run."""
    folder = tmp_path_factory.mktemp("corpus")
    words = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]
    words += ["elf", "zwölf"]
    source = [f"{n} {n + 1} {n + 2}" for n in range(12)]
    target = [f"{words[n]} {words[(n + 1) % 12]} {words[(n + 2) % 12]}" for n in range(12)]
    for name in ("train", "dev"):
        (folder / f"{name}.src").write_text("\n".join(source) + "\n")
        (folder / f"{name}.tgt").write_text("\n".join(target) + "\n")
    return folder


def arguments(corpus: Path, output_dir: Path, *more: str) -> list[str]:
    files = [f"--{s}_{k}={corpus}/{s}.{e}" for s in ("train", "dev") for k, e in SIDES.items()]
    return [
        *("--problem=text2text", "--vocab_size=80", f"--data_dir={corpus}/data", *files),
        *(f"--output_dir={output_dir}", f"--hparams={TINY}", *more),
    ]


SIDES = {"source": "src", "target": "tgt"}


def log_of(run_dir: Path, event: str) -> list[dict]:
    lines = (run_dir / "train_log.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["event"] == event]


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    """A run of 6 steps with two checkpoints, evaluated with beam search."""
    run_dir = tmp_path_factory.mktemp("runs") / "numbers"
    status = main(
        arguments(
            corpus,
            run_dir,
            *("--train_steps=6", "--local_eval_frequency=3", "--log_step_count_steps=2"),
            *("--eval_throttle_seconds=0", "--eval_bleu", "--eval_bleu_lines=3"),
            "--keep_checkpoint_max=1",
        )
    )
    assert status == 0
    return run_dir


@pytest.mark.slow
def test_what_a_run_directory_holds(trained):
    assert checkpoints.all_steps(trained) == [6]
    settings = json.loads((trained / "hparams.json").read_text())
    assert settings["hidden_size"] == 16 and "daisy_chain_variables" in settings
    assert "--train_steps=6" in (trained / "flags.txt").read_text().splitlines()
    assert list(trained.glob("events.out.tfevents.*")) and list(trained.glob("eval/events.*"))
    assert list(trained.glob("vocab.*"))
    # The data is named, not repeated: the next call needs neither problem nor settings.
    assert json.loads((trained / "run.json").read_text())["problem"] == "text2text"


@pytest.mark.slow
def test_what_is_logged(trained):
    assert [record["step"] for record in log_of(trained, "train")] == [2, 4, 6]
    assert [record["step"] for record in log_of(trained, "checkpoint")] == [3, 6]
    evaluations = log_of(trained, "eval")
    assert [record["step"] for record in evaluations] == [3, 6]
    for record in evaluations:
        assert record["perplexity"] == pytest.approx(np.exp(-record["neg_log_perplexity"]))
        assert 0 <= record["bleu_sacrebleu"] <= 100
        assert 0 <= record["accuracy"] <= record["accuracy_top5"] <= 1
    assert log_of(trained, "end")[0]["reason"] == "finished"


@pytest.mark.slow
def test_the_best_checkpoint_is_kept_apart(trained):
    scores = {record["step"]: record["bleu_sacrebleu"] for record in log_of(trained, "eval")}
    best = max(scores.values())
    first_best = min(step for step, score in scores.items() if score == best)
    assert checkpoints.all_steps(trained / "best") == [first_best]
    assert (trained / "best" / "run.json").is_file()


@pytest.mark.slow
def test_evaluation_alone(trained, capfd):
    assert main([f"--output_dir={trained}", "--schedule=evaluate", "--json"]) == 0
    out, line = capfd.readouterr()
    assert "step 6, dev: loss" in line and "teacher-forced, not BLEU" in line
    first, again = log_of(trained, "eval")[-2:]
    assert again["loss"] == pytest.approx(first["loss"], rel=1e-5)
    assert json.loads(out)["loss"] == again["loss"]


@pytest.mark.slow
def test_other_settings_are_shown_and_refused(trained, corpus, capfd):
    more = arguments(corpus, trained, "--train_steps=7")
    changed = [a.replace("filter_size=32", "filter_size=48") for a in more]
    assert main(changed) == 2
    assert "filter_size: 32 in the run directory, 48 on the command line" in capfd.readouterr().err
    assert main([*changed, "--on_conflict=run_dir", "--train_steps=6"]) == 0
    assert "nothing to do" in capfd.readouterr().err


@pytest.mark.slow
def test_another_problem_in_the_same_directory_is_refused(trained, capfd):
    assert main([f"--output_dir={trained}", "--problem=algorithmic_copy"]) == 2
    assert "a run directory has one problem" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--output_dir is not given"),
        (["--output_dir={new}"], "--hparams names no set"),
        (["--output_dir={new}", "--hparams=tiny"], "--problem is not given"),
        (["--output_dir={new}", "--hparams=tiny", "--problem=algorithmic_copy"], "--data_dir"),
        (["--output_dir={new}", "--hparams=tinny"], "did you mean 'tiny'?"),
        (["--output_dir={new}", "--hparams=tiny,hiden_size=4"], "did you mean hidden_size"),
        (["--output_dir={new}", "--hparams=tiny", "--problem=algorithmic_copie"], "did you mean"),
        (["--output_dir={new}", "--hparams_set=tiny", "--hparams=base"], "both name a set"),
        (["--output_dir={new}", "--schedule=evaluate"], "no such run directory"),
        (["--output_dir={new}", "--use_tpu=true"], "--use_tpu does not exist here"),
        (["--output_dir={new}", "--autotune"], "one run for each"),
        # Harmless flags of T2T, with and without a value, leave what follows them alone.
        (["--generate_data", "--ps_replicas=0", "--output_dir={new}", "--nouse_tpu"], "no set"),
        (["--output_dir={new}", "--json"], "--json is for --schedule=evaluate"),
        (["--output_dir={new}", "--train_steps=-1"], "train_steps"),
    ],
)
def test_mistakes_end_at_once(flags, message, tmp_path, capfd):
    assert main([flag.format(new=tmp_path / "new") for flag in flags]) == 2
    said = capfd.readouterr().err
    assert message in said and "Traceback" not in said
    assert not (tmp_path / "new").exists()


def start(command: list[str]) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "keras_transformer.cli.trainer", *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1"},
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_step(run_dir: Path, process: subprocess.Popen, step: int) -> None:
    """Until the log reports a step: checkpoints appear around it."""
    while process.poll() is None:
        if (run_dir / "train_log.jsonl").exists() and any(
            record["step"] >= step for record in log_of(run_dir, "checkpoint")
        ):
            return
        time.sleep(0.05)
    raise AssertionError(process.stderr.read())


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_before_leaving(corpus, tmp_path, number, status):
    run_dir = tmp_path / "run"
    command = ["--train_steps=100000", "--local_eval_frequency=5", "--schedule=train"]
    process = start(arguments(corpus, run_dir, *command))
    wait_for_step(run_dir, process, 5)
    process.send_signal(number)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == status, said
    step = checkpoints.step_of(checkpoints.latest(run_dir))
    assert f"step {step}: interrupted; saved in" in said
    assert log_of(run_dir, "end")[0] | {"time": 0} == {
        **{"event": "end", "step": step, "reason": "interrupted"},
        "time": 0,
    }


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_with_the_same_weights(corpus, tmp_path):
    goal = 24
    command = [f"--train_steps={goal}", "--local_eval_frequency=1", "--schedule=train"]
    command += ["--deterministic", "--keep_checkpoint_max=3", "--log_step_count_steps=1"]
    assert main(arguments(corpus, tmp_path / "straight", *command)) == 0
    killed = tmp_path / "killed"
    generator = np.random.default_rng()
    for step in (2, 9, 16):
        process = start(arguments(corpus, killed, *command))
        wait_for_step(killed, process, step)
        # A checkpoint is written after every step: some of these moments fall into a write.
        time.sleep(float(generator.uniform(0, 0.1)))
        process.kill()
        process.communicate()
    assert main(arguments(corpus, killed, *command)) == 0
    assert not [name for name in os.listdir(killed) if name.endswith(".tmp")]
    straight, other = (
        checkpoints.read(tmp_path / name / f"model.ckpt-{goal}") for name in ("straight", "killed")
    )
    for name in straight.names():
        if name not in (checkpoints.DATA_ITERATOR, checkpoints.TRAIN_STATE):
            np.testing.assert_array_equal(other.tensor(name), straight.tensor(name), err_msg=name)
