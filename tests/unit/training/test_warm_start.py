"""A new run with old weights: rows follow their entries, whatever their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.model.transformer import Transformer
from keras_transformer.run_dir import RunDir
from keras_transformer.t2t_compat.loader import load_model
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.training import checkpoints, warm_start
from tests.unit.t2t_compat.bundles import BASE_V3, copy_run


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A T2T run that names its problem and holds its vocabulary."""
    folder = copy_run(BASE_V3, tmp_path_factory.mktemp("t2t") / "run")
    (folder / "flags.txt").write_text("--problem=translate_ende_wmt32k\n")
    name = "vocab.translate_ende_wmt32k.32768.subwords"
    (folder / "vocab.shared.subwords").rename(folder / name)
    return folder, SubwordTextEncoder.load(folder / name)


def new_model(run, size, target_size=None):
    return Transformer.from_hparams(run.hparams, size, target_size or size)


def values(model):
    return {name: variable.numpy() for name, variable in model.named_weights().items()}


def test_the_same_vocabulary_keeps_everything(origin):
    folder, encoder = origin
    model = new_model(RunDir.open(folder), encoder.vocab_size)
    notes = warm_start.begin_with(model, {"inputs": encoder, "targets": encoder}, folder)
    assert len(notes) == 1 and "model.ckpt-220, at step 0" in notes[0]
    for name, value in values(load_model(folder)).items():
        np.testing.assert_array_equal(values(model)[name], value)


def test_rows_of_shared_entries_are_kept_and_the_rest_initialised(origin):
    folder, encoder = origin
    old = list(encoder.subtokens)
    # Some entries gone, two new ones, and the order turned round.
    entries = [*old[:2], *reversed(old[20:]), "brand_", "new_"]
    changed = SubwordTextEncoder(entries)
    model = new_model(RunDir.open(folder), len(entries))
    fresh = values(model)
    notes = warm_start.begin_with(model, {"inputs": changed, "targets": changed}, folder)
    assert f"rows of {len(entries) - 2} entries kept, of 2 entries" in notes[1]
    theirs, mine = values(load_model(folder)), values(model)
    table, before = mine["shared_embedding/weights"], fresh["shared_embedding/weights"]
    for number, entry in enumerate(entries[:-2]):
        np.testing.assert_array_equal(
            table[number], theirs["shared_embedding/weights"][old.index(entry)]
        )
    np.testing.assert_array_equal(table[-2:], before[-2:])
    name = "decoder/layer_1/feed_forward/hidden/kernel"
    np.testing.assert_array_equal(mine[name], theirs[name])


def test_a_shared_table_fills_separate_ones(origin):
    folder, encoder = origin
    other = SubwordTextEncoder(list(encoder.subtokens)[:150])
    model = new_model(RunDir.open(folder), encoder.vocab_size, other.vocab_size)
    warm_start.begin_with(model, {"inputs": encoder, "targets": other}, folder)
    shared, mine = values(load_model(folder))["shared_embedding/weights"], values(model)
    np.testing.assert_array_equal(mine["inputs_embedding/weights"], shared)
    np.testing.assert_array_equal(mine["targets_embedding/weights"], shared[:150])
    np.testing.assert_array_equal(mine["softmax/weights"], shared[:150])


def test_a_run_of_ours(origin, tmp_path):
    folder, encoder = origin
    theirs = load_model(folder)
    run = RunDir.open(folder)
    RunDir.create(tmp_path / "ours", run.hparams, run.problem, folder)
    checkpoints.save(tmp_path / "ours", 7, theirs.named_weights(), {})
    model = new_model(run, encoder.vocab_size)
    warm_start.begin_with(model, {"inputs": encoder, "targets": encoder}, tmp_path / "ours")
    for name, value in values(theirs).items():
        np.testing.assert_array_equal(values(model)[name], value)


def test_layers_that_do_not_fit_are_listed(origin):
    folder, encoder = origin
    run = RunDir.open(folder)
    model = Transformer.from_hparams(run.hparams.override("filter_size=32"), 199, 199)
    with pytest.raises(UserError, match=r"(?s)of another shape.*feed_forward/hidden/kernel"):
        warm_start.begin_with(model, {"inputs": encoder, "targets": encoder}, folder)


def test_no_run_at_all(tmp_path, origin):
    with pytest.raises(UserError, match="no run directory"):
        warm_start.begin_with(None, {}, tmp_path)


@pytest.mark.parametrize(
    ("new", "old", "pairs"),
    [
        (["<pad>_", "<EOS>_", "b", "c"], ["<pad>_", "<EOS>_", "c", "a"], [(0, 0), (1, 1), (3, 2)]),
        # The two reserved entries match by number, whatever they are called.
        (["p", "e", "a"], ["<pad>", "<EOS>", "a"], [(0, 0), (1, 1), (2, 2)]),
        # A word spelt like a reserved entry is not that entry.
        (["p", "e", "<pad>"], ["<pad>", "<EOS>", "a"], [(0, 0), (1, 1)]),
    ],
)
def test_matching_rows(new, old, pairs):
    rows = warm_start.matching_rows(new, old)
    assert list(zip(*(side.tolist() for side in rows), strict=True)) == pairs
