"""The run directory that Tensor2Tensor wrote, decoded with `kt-decoder`."""

from __future__ import annotations

from pathlib import Path

from keras_transformer.cli.decoder import main

GOLDEN = Path(__file__).parents[1] / "golden"
RUN = GOLDEN / "t2t_trainer_run"
DATA = GOLDEN / "data_pipeline" / "data"
VOCABULARY = DATA / "vocab.oracle_toy_ende.256.subwords"
INPUT = RUN / "decode_input.txt"
MODEL = [f"--output_dir={RUN}", f"--vocab_file={VOCABULARY}"]


def decode(*flags: str) -> None:
    assert main([*MODEL, *flags]) == 0
