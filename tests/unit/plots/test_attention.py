"""Attention maps of a model that Tensor2Tensor trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.plots.attention import (
    KINDS,
    attention_maps,
    attention_weights,
    head_colours,
)
from tests.unit.plots.attention_example import example

RUN = Path(__file__).parents[2] / "golden" / "models" / "base_v1"


@pytest.fixture(scope="module")
def translator():
    vocabulary = str(RUN / "vocab.shared.subwords")
    return Translator.load(RUN, vocab_file=vocabulary, target_space_id=0)


@pytest.fixture(scope="module")
def maps(translator):
    return attention_maps(translator, "a red house", "a house there")


def test_shapes_rows_and_what_cannot_be_seen(maps):
    source, target = len(maps.source.subtokens), len(maps.target.subtokens)
    assert maps.source.subtokens[-1] == "<EOS>"
    shapes = {"encoder": (source, source), "cross": (target, source), "decoder": (target, target)}
    for kind in KINDS:
        assert len(maps.weights[kind]) == 2
        for weights in maps.weights[kind]:
            assert weights.dtype == np.float32
            assert weights.shape[1:] == shapes[kind]
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    for weights in maps.weights["decoder"]:
        # The first step reads the start alone, and no step reads what comes after it.
        np.testing.assert_array_equal(np.triu(weights, 1), 0)
    assert maps.target_read.subtokens == ("<start>", *maps.target.subtokens[:-1])


def test_a_given_target_is_what_the_model_is_made_to_write(translator, maps):
    assert maps.is_given
    assert (maps.source_text, maps.target_text) == ("a red house", "a house there")
    ids = [*translator.target_encoder.encode("a house there"), 1]
    assert len(maps.target.subtokens) == len(ids)
    assert [word.text for word in maps.target.words] == ["a", "house", "there", "<EOS>"]
    other = attention_maps(translator, "a red house", "no")
    # The encoder does not see the target; the decoder's first step does not see it yet.
    for mine, its in zip(other.weights["encoder"], maps.weights["encoder"], strict=True):
        np.testing.assert_array_equal(mine, its)
    for mine, its in zip(other.weights["cross"], maps.weights["cross"], strict=True):
        np.testing.assert_allclose(mine[:, 0], its[:, 0], atol=1e-6)
        assert abs(mine[:, 2] - its[:, 2]).max() > 1e-4


@pytest.mark.slow
def test_decoded_maps_are_those_of_the_best_translation(translator):
    options = DecodeOptions(beam_size=1, extra_length=8)
    decoded = attention_maps(translator, "a red house", options=options)
    best = translator.translate(["a red house"], options, attention=True)[0]
    assert not decoded.is_given and decoded.target_text == best.text
    for layer in range(2):
        for kind, path in (("cross", "cross_attention"), ("decoder", "self_attention")):
            np.testing.assert_array_equal(
                decoded.weights[kind][layer], best.attention[f"decoder/layer_{layer}/{path}"]
            )


def test_padding_is_removed(translator):
    model = translator.models[0][0]
    plain = attention_weights(model, [5, 6, 1], [7, 8, 9, 1])
    padded = attention_weights(model, [5, 6, 1, 0, 0], [7, 8, 9, 1, 0])
    for kind in KINDS:
        for mine, its in zip(padded[kind], plain[kind], strict=True):
            np.testing.assert_array_equal(mine, its)
    with pytest.raises(ValueError, match="padding must stand at the end"):
        attention_weights(model, [5, 0, 6, 1], [7, 1])


def test_words_gather_what_their_subtokens_get():
    maps = example()
    joined = maps.joined("cross", 1)
    raw = maps.weights["cross"][1]
    assert joined.shape == (3, 3, 4)
    # "Klicken" (two subtokens) looks at "Click" (two subtokens).
    np.testing.assert_allclose(joined[:, 0, 0], raw[:, :2, :2].sum(axis=2).mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(joined[:, 1, 2], raw[:, 2, 3], rtol=1e-6)
    for kind in KINDS:
        np.testing.assert_allclose(maps.joined(kind, 0).sum(axis=2), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [(" ", None, "the source is blank"), ("a", " ", "the target is blank")],
)
def test_blank_sentences_are_refused(translator, source, target, message):
    with pytest.raises(UserError, match=message):
        attention_maps(translator, source, target)


def test_an_ensemble_is_refused(translator):
    model = translator.models[0][0]
    encoder = translator.source_encoder
    with pytest.raises(UserError, match="those of one model"):
        attention_maps(Translator([[model, model]], encoder, encoder), "a")


def test_a_target_beyond_the_learned_positions_is_refused(translator):
    encoder = translator.source_encoder
    short = Translator(translator.models, encoder, encoder, most_positions=3)
    with pytest.raises(UserError, match="more than the 3 positions the model has learned"):
        attention_maps(short, "a", "a red house over there")


@pytest.mark.parametrize("heads", [1, 8, 32])
def test_each_head_has_a_colour_of_its_own(heads):
    colours = head_colours(heads)
    assert len(set(colours)) == heads
    assert all(len(colour) == 7 and int(colour[1:], 16) >= 0 for colour in colours)
