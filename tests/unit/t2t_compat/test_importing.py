"""Taking a run over: everything is written, nothing of T2T's is lost, training can go on."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.run_dir import RunDir
from keras_transformer.t2t_compat import importing, parity
from keras_transformer.t2t_compat.writer import reverse_run
from keras_transformer.training import checkpoints
from tests.unit.t2t_compat.bundles import (
    BASE_V3,
    MODELS,
    changed_copy,
    read_bundle,
    without,
)


def open_t2t(folder, **options):
    return RunDir.open(folder, vocab_file=str(folder / "vocab.shared.subwords"), **options)


def rows_of(shards, stem):
    return np.concatenate([shards[f"{stem}/weights_{n}"] for n in range(16)])


def test_weights_moments_step_and_report(tmp_path):
    report = importing.import_run(open_t2t(BASE_V3), tmp_path / "new", with_parity=False)
    theirs = read_bundle(BASE_V3 / "model.ckpt-220")
    reader = checkpoints.read(checkpoints.latest(tmp_path / "new"))
    assert reader.global_step == 220 and not reader.is_inference_only
    np.testing.assert_array_equal(
        reader.tensor("decoder/layer_1/cross_attention/value/kernel"),
        theirs["transformer/body/decoder/layer_1/encdec_attention/multihead_attention/v/kernel"],
    )
    table = "transformer/symbol_modality_199_32/shared"
    for ours, slot in (("m", "Adam"), ("v", "Adam_1")):
        shards = {
            f"{table}/weights_{n}": theirs[f"training/{table}/weights_{n}/{slot}"]
            for n in range(16)
        }
        np.testing.assert_array_equal(
            reader.tensor(f"optimizer/{ours}/shared_embedding/weights"), rows_of(shards, table)
        )
    assert reader.tensor("optimizer/beta2_power") == theirs["training/beta2_power"]
    stored = json.loads((tmp_path / "new" / "import_report.json").read_text())
    assert stored == report.to_dict()
    assert {*stored["variables_taken"], *stored["variables_left"]} == set(theirs)
    assert "taken over" in stored["variables_left"]["training/beta1_power"]


def test_the_vocabulary_is_recorded_and_another_one_refused(tmp_path):
    importing.import_run(open_t2t(BASE_V3), tmp_path / "new", with_parity=False)
    run = RunDir.open(tmp_path / "new")
    record = run.vocabularies["inputs"]
    assert record["size"] == 199 and len(record["sha256"]) == 64
    other = tmp_path / "other"
    lines = (BASE_V3 / "vocab.shared.subwords").read_text().splitlines()
    lines[5], lines[6] = lines[6], lines[5]
    other.write_text("\n".join(lines) + "\n")
    with pytest.raises(UserError, match="not the inputs vocabulary.*another sha256"):
        run.encoders(vocab_file=str(other))


def test_a_wrong_vocabulary_is_refused_before_anything_is_written(tmp_path):
    wrong = MODELS / "base_v1_two_vocabs" / "vocab.inputs.subwords"
    run = RunDir.open(BASE_V3, vocab_file=str(wrong))
    with pytest.raises(UserError, match="not the vocabulary this model was trained with"):
        importing.import_run(run, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_two_vocabularies_for_a_problem_that_has_one(tmp_path):
    folder = MODELS / "base_v1_two_vocabs"
    run = RunDir.open(
        folder,
        problem="translate_ende_wmt32k",
        source_vocab_file=str(folder / "vocab.inputs.subwords"),
        target_vocab_file=str(folder / "vocab.targets.subwords"),
        target_space_id=8,
    )
    with pytest.raises(UserError, match="has one vocabulary for both sides, but two are given"):
        importing.import_run(run, tmp_path / "new", with_parity=False)


def test_weights_without_moments_serve_decoding(tmp_path):
    bare = changed_copy(tmp_path / "bare", without("^training/"))
    report = importing.import_run(
        open_t2t(bare, target_space_id=0), tmp_path / "new", with_parity=False
    )
    assert checkpoints.read(checkpoints.latest(tmp_path / "new")).is_inference_only
    assert any("no state of the optimizer adam" in note for note in report.notes)


def test_a_run_is_never_written_over(tmp_path):
    run = open_t2t(BASE_V3)
    importing.import_run(run, tmp_path / "new", with_parity=False)
    with pytest.raises(UserError, match="holds a run already"):
        importing.import_run(run, tmp_path / "new")


@pytest.mark.parametrize(
    "name",
    ["base_v3", "base_v1", "no_sharing", "one_shard_divisor", "learned_positions", "parsing_base"],
)
def test_there_and_back_is_bit_exact(tmp_path, name):
    folder = MODELS / name
    problem = json.loads((folder / "problem.json").read_text())
    opened = RunDir.open(
        folder,
        source_vocab_file=str(folder / problem["input_vocab_file"]),
        target_vocab_file=str(folder / problem["target_vocab_file"]),
        target_space_id=problem["target_space_id"],
    )
    importing.import_run(opened, tmp_path / "new", with_parity=False)
    run = RunDir.open(tmp_path / "new")
    written = reverse_run(run, checkpoints.latest(run.path), tmp_path / "back")
    theirs, back = read_bundle(opened.description.reader.prefix), read_bundle(written)
    # The scalars of the trainer are written even where the original was cut down to its weights.
    assert {
        n for n in set(back) ^ set(theirs) if not n.startswith(("losses_avg", "train_st"))
    } == set()
    for variable, value in theirs.items():
        assert np.asarray(back[variable]).dtype == np.asarray(value).dtype, variable
        assert np.asarray(back[variable]).tobytes() == np.asarray(value).tobytes(), variable
    settings = json.loads((tmp_path / "back" / "hparams.json").read_text())
    original = json.loads((folder / "hparams.json").read_text())
    overruled = {n for n in original if n in settings and settings[n] != original[n]}
    # Vocabularies of two sizes switch sharing off, whatever the settings say.
    assert overruled <= {"shared_embedding_and_softmax_weights"}
    assert "attention_bias" not in settings


def test_back_is_refused_where_t2t_has_no_place(tmp_path):
    folder = MODELS / "t2t_1.0.14_post_norm_shared"
    importing.import_run(open_t2t(folder), tmp_path / "new", with_parity=False)
    run = RunDir.open(tmp_path / "new")
    prefix = checkpoints.latest(run.path)
    with pytest.raises(UserError, match="attention_bias is True, which T2T 1.15 cannot hold"):
        reverse_run(run, prefix, tmp_path / "back")
    with pytest.raises(UserError, match="holds a run already"):
        reverse_run(run, prefix, run.path)


@pytest.mark.slow
def test_parity_finds_a_changed_weight(tmp_path):
    importing.import_run(open_t2t(BASE_V3), tmp_path / "new")
    folder = tmp_path / "new"
    from keras_transformer.decoding.loading import load_models

    model = load_models(folder).models[0][0]
    path = folder / parity.PARITY_FILE
    assert all(row.agrees for row in parity.verify(model, path, 0.1))
    kernel = model.named_weights()["encoder/layer_0/feed_forward/hidden/kernel"]
    kernel.assign(kernel * 1.01)
    wrong = {row.name for row in parity.verify(model, path, 0.1) if not row.agrees}
    assert {"encoder_output", "logits", "eval_loss"} <= wrong
    shutil.copy(BASE_V3 / "checkpoint", folder / "not.npz")
    with pytest.raises(UserError, match="not an .npz file"):
        parity.verify(model, folder / "not.npz", 0.1)
    with pytest.raises(UserError, match="cannot be read"):
        parity.verify(model, folder / "gone.npz", 0.1)
