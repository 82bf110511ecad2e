"""Parameter counts: to the unit, against the paper's rows, T2T's variables and real models."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

import keras_transformer as kt
from keras_transformer.model.parameter_count import count_parameters

GOLDEN = Path(__file__).parents[2] / "golden" / "parameter_count" / "t2t_models.tsv"
TINY = "num_hidden_layers=2,hidden_size=32,filter_size=64,num_heads=4"

# base_v1's recipe, target-space table included, one vocabulary of 37,000.
TABLE_3 = {
    "base": 63_062_016, "A1": 63_062_016, "A2": 63_062_016, "A3": 63_062_016, "A4": 63_062_016,
    "B1": 55_984_128, "B2": 58_343_424,
    "C1": 33_660_928, "C2": 48_361_472, "C3": 77_762_560, "C4": 26_824_704, "C5": 163_848_192,
    "C6": 50_466_816, "C7": 88_252_416,
    "D1": 63_062_016, "D2": 63_062_016, "D3": 63_062_016, "D4": 63_062_016,
    "E": 63_324_160, "big": 214_204_416,
}  # fmt: skip

# Read from the variables T2T 1.15.7 makes for its registered sets at the same vocabulary.
T2T_SETS = {
    "transformer_base_v1": 63_062_016, "transformer_base": 63_064_064,
    "transformer_big": 214_208_512, "transformer_l2": 33_662_976, "transformer_l4": 48_363_520,
    "transformer_l8": 77_764_608, "transformer_hs256": 26_825_728,
    "transformer_hs1024": 163_852_288, "transformer_ff1024": 50_468_864,
    "transformer_ff4096": 88_254_464, "transformer_k128": 55_986_176,
    "transformer_k256": 58_345_472, "transformer_tiny": 5_663_232,
    "transformer_small": 13_161_472, "transformer_big_enfr": 390_696_960,
}  # fmt: skip


@pytest.mark.parametrize(("row", "total"), TABLE_3.items())
def test_table_3(row, total):
    assert count_parameters(kt.hparams(f"table3_{row}"), 37_000)["total"] == total


@pytest.mark.parametrize(("name", "total"), T2T_SETS.items())
def test_t2t_sets(name, total):
    assert count_parameters(kt.hparams(name), 37_000)["total"] == total


def _t2t_models() -> list[dict[str, str]]:
    with GOLDEN.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


@pytest.mark.parametrize("row", _t2t_models(), ids=lambda row: row["set"] + row["overrides"])
def test_each_part_of_t2ts_checkpoints(row):
    hp = kt.hparams(row.pop("set"), f"{TINY},{row.pop('overrides')}")
    counts = count_parameters(hp, int(row.pop("source")), int(row.pop("target")))
    assert {part: counts[part] for part in row} == {part: int(row[part]) for part in row}


def test_base_by_hand():
    """Paper 3: attention 4·512², feed-forward 2·512·2048 + 2048 + 512, norms of 2·512."""
    counts = count_parameters(kt.hparams("base"), 37_000)
    assert counts["attention"] == 6 * (1 + 2) * 4 * 512 * 512
    assert counts["feed_forward"] == 12 * (2 * 512 * 2048 + 2048 + 512)
    assert counts["layer_norm"] == 6 * (2 + 3) * 2 * 512
    assert counts["embedding"] == 37_000 * 512
    assert counts["softmax"] == counts["positions"] == 0


def test_biases_of_2017():
    plain = count_parameters(kt.hparams("base"), 100)
    biased = count_parameters(kt.hparams("base", "attention_bias=true"), 100)
    assert biased["attention"] - plain["attention"] == 18 * 4 * 512


@pytest.mark.parametrize(
    ("name", "overrides", "vocab_sizes"),
    [
        ("transformer_base_v1", "", (50, 50)),
        ("transformer_base", "", (50, 60)),
        ("transformer_base", "attention_bias=true,attention_key_channels=16", (50, 50)),
        ("transformer_base", "pos=emb,max_length=20,use_target_space_embedding=false", (50, 50)),
        ("transformer_base_v1", "num_encoder_layers=1,num_decoder_layers=3", (50, 50)),
        (
            "transformer_base_v1",
            "shared_embedding=true,shared_embedding_and_softmax_weights=false,vocab_divisor=16",
            (50, 50),
        ),
    ],
)
def test_real_models(name, overrides, vocab_sizes):
    hp = kt.hparams(name, f"{TINY},{overrides}")
    model = kt.Transformer.from_hparams(
        hp, source_vocab_size=vocab_sizes[0], target_vocab_size=vocab_sizes[1]
    )
    model({"inputs": [[3, 1]], "targets": [[4, 1]]}, training=False)
    built = sum(math.prod(variable.shape) for variable in model.trainable_variables)
    assert count_parameters(hp, *vocab_sizes)["total"] == built
