"""Packed rows are trained on as their sentences are, one by one.

In T2T the target is shifted as a whole row, so the first position of a packed sentence is told the
end of the sentence before it, where a sentence in a row of its own is told a vector of zeros. Where
that symbol's vector is zero, or padding stands between the sentences, the two are the same, and so
must be loss and gradient.
"""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_transformer as kt
from keras_transformer.data import pipeline
from keras_transformer.data.text_problem import Text2TextProblem, VocabType
from keras_transformer.training import distribution
from keras_transformer.training.train_step import TrainStep

EOS = 1
SPLITS = [{"split": "train", "shards": 1}, {"split": "dev", "shards": 1}]


class Letters(Text2TextProblem):
    vocab_type = VocabType.CHARACTER
    dataset_splits = SPLITS

    def generate_samples(self, data_dir, tmp_dir, dataset_split):
        for number in range(60):
            yield {"inputs": "abcdefghij"[: number % 9 + 1], "targets": "klmnopq"[number % 6 :]}


class LettersPacked(Letters):
    packed_length = 40


class LettersSpaced(Letters):
    packed_length = 40
    packed_spacing = 2


def _all_sentences(problem, folder):
    """Every sentence of the problem in one update's batches."""
    problem.generate_data(str(folder), "")
    hp = kt.hparams("tiny", "batch_size=400,max_length=64")
    return list(pipeline.training_dataset(problem, str(folder), hp, seed=1, repeat=False))


def _update(batches, forget_end):
    """One step of plain gradient descent with all batches; its report, and what it changed."""
    keras.utils.set_random_seed(4)
    hp = kt.hparams(
        "transformer_base",
        "num_hidden_layers=2,hidden_size=16,filter_size=32,num_heads=2,"
        "layer_prepostprocess_dropout=0,attention_dropout=0,relu_dropout=0,"
        "optimizer=momentum,optimizer_momentum_momentum=0",
    )
    strategy = distribution.strategy()
    with strategy.scope():
        model = kt.Transformer.from_hparams(hp, 258, 258)
        step = TrainStep(model, hp, strategy, accumulate=len(batches))
    if forget_end:
        table = model.softmax_table.value
        table.assign(tf.tensor_scatter_nd_update(table, [[EOS]], tf.zeros([1, 16])))
    before = {name: value.numpy() for name, value in model.named_weights().items()}
    result = step(batches, 0, 1.0)
    moved = {name: value.numpy() - before[name] for name, value in model.named_weights().items()}
    if forget_end:
        # What the symbol's own vector learns differs: only packed rows show it to a next sentence.
        moved["shared_embedding/weights"][EOS] = 0
    return result, moved


@pytest.mark.parametrize(("packed", "forget_end"), [(LettersPacked, True), (LettersSpaced, False)])
def test_packed_and_single_rows_make_the_same_update(packed, forget_end, tmp_path):
    plain_batches = _all_sentences(Letters(), tmp_path)
    packed_batches = _all_sentences(packed(), tmp_path)
    rows = [sum(b["inputs"].shape[0] for b in each) for each in (plain_batches, packed_batches)]
    assert rows[0] == 60
    assert rows[1] < 20
    expected, moved = _update(plain_batches, forget_end)
    result, packed_moved = _update(packed_batches, forget_end)
    assert int(result.target_tokens) == int(expected.target_tokens)
    assert int(result.source_tokens) == int(expected.source_tokens)
    assert float(result.loss) == pytest.approx(float(expected.loss), rel=1e-6)
    assert moved.keys() == packed_moved.keys()
    for name in moved:
        np.testing.assert_allclose(packed_moved[name], moved[name], atol=2e-6, err_msg=name)
    assert max(np.abs(each).max() for each in moved.values()) > 1e-2
