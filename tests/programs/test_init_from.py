"""`kt-trainer --init_from`: a new run with the weights of an old one and another vocabulary."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformer.cli import avg
from keras_transformer.cli.trainer import main
from keras_transformer.run_dir import RunDir
from keras_transformer.training import checkpoints
from keras_transformer.training.warm_start import entries_of

SETTINGS = (
    "tiny,num_hidden_layers=1,hidden_size=16,num_heads=2,filter_size=32,batch_size=60,"
    "batch_shuffle_size=8"
)
OLD = ["ein", "zwei", "drei", "vier", "fünf", "sechs"]
NEW = ["sieben", "acht", "vier", "drei", "zwei", "ein", "neun"]


def train(folder, words, *more):
    """A run of one update on texts of these words."""
    folder.mkdir()
    lines = [" ".join(words[(n + k) % len(words)] for k in range(3)) for n in range(len(words))]
    (folder / "text").write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = [f"{split}_{side}" for split in ("train", "dev") for side in ("source", "target")]
    flags = ["--problem=text2text", "--vocab_size=60", *(f"--{n}={folder}/text" for n in names)]
    flags += [f"--data_dir={folder}/data", f"--output_dir={folder}/run", "--schedule=train"]
    assert main([*flags, "--train_steps=1", *more]) == 0
    return folder / "run"


def table(run_dir):
    """String of each entry of the vocabulary → its row."""
    entries = entries_of(RunDir.open(run_dir).encoders()["targets"])
    reader = checkpoints.read(checkpoints.latest(run_dir))
    return dict(zip(entries, reader.tensor("shared_embedding/weights"), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("averaged", [False, True])
def test_weights_and_known_entries_are_taken_over(averaged, tmp_path, capfd):
    origin = train(tmp_path / "old", OLD, f"--hparams={SETTINGS}")
    if averaged:  # fine to begin with, though never to go on from
        assert avg.main([f"--model_dir={origin}", "--last=1", f"--output_dir={origin}-avg"]) == 0
        origin = tmp_path / "old" / "run-avg"
    # A rate of 0, so that the update changes nothing that was taken over.
    still = f"--hparams={SETTINGS},learning_rate_constant=0.0"
    run_dir = train(tmp_path / "new", NEW, still, f"--init_from={origin}")
    said = capfd.readouterr().err
    assert f"beginning with the weights of {origin}/model.ckpt-1, at step 0" in said

    old, new = table(origin), table(run_dir)
    shared = old.keys() & new.keys()
    assert {"ein_", "zwei_", "vier_"} <= shared and {"acht_", "neun_"} <= new.keys() - old.keys()
    for entry in shared:
        np.testing.assert_array_equal(new[entry], old[entry], err_msg=entry)
    before, after = (checkpoints.read(checkpoints.latest(each)) for each in (origin, run_dir))
    assert after.global_step == 1
    name = "decoder/layer_0/feed_forward/hidden/kernel"
    np.testing.assert_array_equal(after.tensor(name), before.tensor(name))
