"""Models that must learn within a minute: the whole way from text to decoded output."""

from __future__ import annotations

import json

import pytest

from keras_transformer import registry
from keras_transformer.cli import trainer
from keras_transformer.decoding.translator import Translator

SETTINGS = (
    "tiny,hidden_size=64,filter_size=128,num_hidden_layers=2,num_heads=4,batch_size=1024,"
    "batch_shuffle_size=16,learning_rate_constant=1.0,learning_rate_warmup_steps=300,"
    "layer_prepostprocess_dropout=0.0,attention_dropout=0.0,relu_dropout=0.0"
)


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["algorithmic_copy", "algorithmic_reverse"])
def test_learns(problem, tmp_path):
    status = trainer.main(
        [
            f"--problem={problem}",
            f"--hparams={SETTINGS}",
            f"--data_dir={tmp_path / 'data'}",
            f"--output_dir={tmp_path / 'run'}",
            "--train_steps=1000",
        ]
    )
    assert status == 0
    lines = (tmp_path / "run" / "train_log.jsonl").read_text().splitlines()
    evaluation = [json.loads(line) for line in lines if json.loads(line)["event"] == "eval"][-1]
    assert evaluation["accuracy"] > 0.99
    assert evaluation["accuracy_per_sequence"] > 0.9

    # And without the right answer in sight.
    task = registry.problem(problem)
    data_dir = str(tmp_path / "data")
    sources = list(task.source_lines("test", data_dir))[:100]
    references = list(task.reference_lines("test", data_dir))[:100]
    translations = Translator.load(tmp_path / "run").translate(sources, beam_size=4)
    right = sum(t.text == reference for t, reference in zip(translations, references, strict=True))
    assert right > 90
