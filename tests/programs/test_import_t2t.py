"""`kt-import-t2t` over every model of Tensor2Tensor, on the command line."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from keras_transformer import registry
from keras_transformer.cli import avg, decoder, import_t2t, trainer
from keras_transformer.training import checkpoints
from tests.unit.t2t_compat.bundles import BASE_V3, GOLDEN, MODELS, TRAINER_RUN, copy_run

TEXT = TRAINER_RUN / "decode_input.txt"
NAMES = sorted(path.name for path in MODELS.iterdir() if path.is_dir())
TWO_VOCABS = MODELS / "base_v1_two_vocabs"
VOCAB = f"--vocab_file={TRAINER_RUN / 'vocab.oracle_toy_ende.256.subwords'}"
USR_DIR = """
from keras_transformer import Text2TextProblem, register_problem


@register_problem
class OracleToyEnde(Text2TextProblem):
    approx_vocab_size = 2**8
    dataset_splits = [{"split": "train", "shards": 4}, {"split": "dev", "shards": 2}]
"""


def arguments(name):
    """What a user has to say about a model of the golden folder."""
    folder = MODELS / name
    problem = json.loads((folder / "problem.json").read_text())
    source, target = problem["input_vocab_file"], problem["target_vocab_file"]
    return [
        f"--t2t_model_dir={folder}",
        f"--source_vocab_file={folder / source}",
        f"--target_vocab_file={folder / target}",
        f"--target_space_id={problem['target_space_id']}",
    ]


def decode(run, target, *flags):
    """What the decoder writes, in T2T's way."""
    flags = [
        f"--output_dir={run}",
        VOCAB,
        f"--decode_from_file={TEXT}",
        f"--decode_to_file={target}",
        "--length_limit=batch",
        "--batch_size=128",
        *flags,
    ]
    assert decoder.main(flags) == 0
    return target.read_text()


@pytest.fixture(scope="module")
def usr_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package") / "toy_problems"
    folder.mkdir()
    (folder / "__init__.py").write_text(USR_DIR)
    yield folder
    # Another file of tests registers a problem of this name.
    registry._problems.pop("oracle_toy_ende", None)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_model_agrees_with_what_t2t_computed(name, tmp_path, capsys):
    output = f"--output_dir={tmp_path / 'new'}"
    assert import_t2t.main([*arguments(name), output, "--noparity"]) == 0
    assert "weights filled from" in capsys.readouterr().out
    parity_file = f"--parity_file={MODELS / name / 'expected.npz'}"
    status = import_t2t.main(["--verify", output, parity_file, "--json"])
    result = json.loads(capsys.readouterr().out)
    rows = result["compared"]
    assert (status, result["agrees"]) == (0, True), [row for row in rows if not row["agrees"]]
    compared = {row["name"] for row in rows}
    assert {"encoder_output", "logits", "eval_loss", "greedy output, ids"} <= compared
    is_old = name.startswith("t2t_")
    assert {"best beam, ids" if is_old else "all beams, scores"} <= compared


@pytest.mark.slow
def test_parity_on_another_day(tmp_path, capsys):
    output = f"--output_dir={tmp_path / 'new'}"
    assert import_t2t.main([*arguments("base_v3"), output]) == 0
    assert import_t2t.main(["--verify", output]) == 0
    # A checkpoint that went wrong is found.
    prefix = checkpoints.latest(tmp_path / "new")
    reader = checkpoints.read(prefix)
    tensors = {name: reader.tensor(name) for name in reader.names()}
    tensors["shared_embedding/weights"] = tensors["shared_embedding/weights"] * np.float32(1.01)
    checkpoints.save(tmp_path / "new", 221, {**tensors}, reader.train_state)
    capsys.readouterr()
    assert import_t2t.main(["--verify", output]) == 1
    assert "FAIL logits" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--beam_size=4", "--alpha=0.6"], "decode_beam4_alpha06.txt"),
        (["--beam_size=1"], "decode_greedy.txt"),
    ],
)
def test_the_decoder_takes_a_t2t_run_as_it_is(tmp_path, flags, expected):
    decoded = decode(TRAINER_RUN, tmp_path / "out", *flags)
    assert decoded == (TRAINER_RUN / expected).read_text()


@pytest.mark.slow
def test_training_goes_on_in_a_copy(tmp_path, usr_dir):
    run = copy_run(TRAINER_RUN, tmp_path / "run")
    flags = [
        f"--output_dir={run}",
        f"--usr_dir={usr_dir}",
        "--problem=oracle_toy_ende",
        f"--data_dir={GOLDEN / 'data_pipeline' / 'data'}",
        "--schedule=train",
        "--log_step_count_steps=1",
    ]
    assert trainer.main([*flags, "--train_steps=253"]) == 0
    assert checkpoints.all_steps(run) == [250, 253]
    log = [json.loads(line) for line in (run / "train_log.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in log if row.get("event") == "train"]
    # T2T's loss was about 2 there; a model begun anew has 5.
    assert losses and max(losses) < 3.5
    # Adam's powers went on from T2T's: beta ** (updates + 1).
    reader = checkpoints.read(checkpoints.latest(run))
    np.testing.assert_allclose(reader.tensor("optimizer/beta2_power"), 0.997**254, rtol=1e-4)
    assert trainer.main([*flags, "--train_steps=254"]) == 0
    assert checkpoints.all_steps(run)[-1] == 254


@pytest.mark.slow
@pytest.mark.parametrize("said_by", ["flags.txt", "the command line"])
def test_a_run_without_hparams_json_is_taken_over(tmp_path, usr_dir, said_by):
    run = copy_run(TRAINER_RUN, tmp_path / "run")
    (run / "hparams.json").unlink()
    settings = ["--hparams_set=transformer_base", "--hparams=hidden_size=32,num_heads=4"]
    flags = [
        f"--output_dir={run}",
        f"--usr_dir={usr_dir}",
        "--problem=oracle_toy_ende",
        f"--data_dir={GOLDEN / 'data_pipeline' / 'data'}",
        "--schedule=train",
        "--train_steps=250",
    ]
    if said_by == "flags.txt":
        (run / "flags.txt").write_text("\n".join(settings) + "\n")
    else:
        flags += settings
    assert trainer.main(flags) == 0
    assert checkpoints.all_steps(run) == [250]
    assert (run / "run.json").is_file() and (run / "t2t" / "model.ckpt-250.index").is_file()
    written = json.loads((run / "hparams.json").read_text())
    assert (written["num_heads"], written["filter_size"]) == (4, 64)


@pytest.mark.slow
def test_a_start_killed_while_it_takes_a_run_over(tmp_path, usr_dir, monkeypatch, capsys):
    run = copy_run(TRAINER_RUN, tmp_path / "run")
    (run / "hparams.json").unlink()
    flags = [
        f"--output_dir={run}",
        f"--usr_dir={usr_dir}",
        "--problem=oracle_toy_ende",
        f"--data_dir={GOLDEN / 'data_pipeline' / 'data'}",
        "--hparams_set=transformer_base",
        "--hparams=hidden_size=32,num_heads=4",
        "--schedule=train",
        "--train_steps=251",
    ]
    replace = os.replace

    class Killed(BaseException):
        pass

    def dies(source, target):
        if str(target).endswith("t2t/model.ckpt-250.index"):
            raise Killed
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dies)
        with pytest.raises(Killed):
            trainer.main(flags)
    assert decoder.main([f"--output_dir={run}", f"--decode_from_file={TEXT}"]) == 2
    assert "start kt-trainer in it, which finishes it" in capsys.readouterr().err
    # The settings are in the run directory by now.
    assert trainer.main([flag for flag in flags if "--hparams" not in flag]) == 0
    assert checkpoints.all_steps(run) == [250, 251]
    assert sorted(path.name for path in (run / "t2t").glob("model.*")) == sorted(
        path.name for path in TRAINER_RUN.glob("model.*")
    )


@pytest.mark.slow
def test_averages_of_t2t_checkpoints_decode(tmp_path):
    run = copy_run(TRAINER_RUN, tmp_path / "run")
    for path in run.glob("model.ckpt-250.*"):
        (run / path.name.replace("250", "240")).write_bytes(path.read_bytes())
    assert avg.main([f"--model_dir={run}", "--last=2", f"--output_dir={tmp_path / 'avg'}"]) == 0
    decoded = decode(tmp_path / "avg", tmp_path / "out")
    # The mean of a checkpoint with itself is itself.
    assert decoded == (TRAINER_RUN / "decode_beam4_alpha06.txt").read_text()


def test_there_and_back(tmp_path, capsys):
    output, back = f"--output_dir={tmp_path / 'new'}", f"--t2t_model_dir={tmp_path / 'back'}"
    assert import_t2t.main([*arguments("base_v3"), output, "--noparity"]) == 0
    assert import_t2t.main(["--reverse", output, back]) == 0
    assert "model.ckpt-220" in capsys.readouterr().out
    assert (tmp_path / "back" / "hparams.json").is_file()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--output_dir is not given"),
        (["--output_dir=x"], "give --t2t_model_dir"),
        (["--output_dir=x", "--t2t_model_dir=/gone"], "there is no such folder"),
        (["--output_dir=x", "--verify", "--reverse"], "two different jobs"),
        (["--output_dir=x", "--reverse"], "--t2t_model_dir is not given"),
        (["--output_dir=x", f"--t2t_model_dir={BASE_V3}", "--vocab_file=/gone"], "no such file"),
        (["--output_dir=x", f"--t2t_model_dir={TWO_VOCABS}"], "does not say which problem"),
        (["--output_dir=x", f"--checkpoint_path={BASE_V3}/m.ckpt-1", VOCAB], "m.ckpt-1.index is"),
        (["--output_dir=x", f"--t2t_model_dir={BASE_V3}", VOCAB], "not the vocabulary"),
    ],
)
def test_mistakes_have_one_clear_message(flags, message, capsys):
    assert import_t2t.main(flags) == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error
