from __future__ import annotations

import itertools
import logging
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding import ensemble
from keras_transformer.decoding.alpha_sweep import translate_for_alphas
from keras_transformer.decoding.constraints import END_OF_SENTENCE
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.search_graph import SearchGraph
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from tests.unit.decoding.small_translator import (
    WORDS,
    small_encoder,
    small_model,
    small_translator,
)

OPTIONS = {"beam_size": 3, "extra_length": 6}


def sentences(number: int, longest: int = 9) -> list[str]:
    generator = np.random.default_rng(number)
    return [
        " ".join(generator.choice(WORDS, size=generator.integers(1, longest)))
        for _ in range(number)
    ]


def outputs(translations):
    return [(t.source, t.text, t.ids, round(t.score, 3)) for t in translations]


def test_a_list_gives_a_list_in_order_and_batches_change_nothing():
    lines = sentences(20)
    translator = small_translator()
    alone = [translator.translate([line], **OPTIONS)[0] for line in lines]
    for batch_size in (1, 3, 32):
        together = translator.translate(lines, batch_size=batch_size, **OPTIONS)
        assert isinstance(together, list)
        assert outputs(together) == outputs(alone)
    assert len({t.text for t in alone}) > 5  # the model is not deaf


def test_an_iterator_is_read_as_the_answers_are_taken():
    translator = small_translator()
    asked = 0

    def endless():
        nonlocal asked
        for line in itertools.cycle(sentences(10)):
            asked += 1
            yield line

    answers = translator.translate(endless(), beam_size=1, batch_size=2, extra_length=1)
    first = list(itertools.islice(answers, 5))
    assert [t.source for t in first] == sentences(10)[:5]
    assert asked <= 3 * 16 * 2


def test_white_space_is_not_shown_to_the_model():
    lines = ["a red door", "", " ", "\t", "\u00a0 ", "\u3000", "the sun rises"]
    translations = small_translator().translate(lines, **OPTIONS)
    without = small_translator().translate([lines[0], lines[-1]], **OPTIONS)
    assert [t.text for t in translations[1:-1]] == [""] * 5
    assert outputs([translations[0], translations[-1]]) == outputs(without)


def test_scores():
    for translation in small_translator().translate(sentences(5), n_best=3, **OPTIONS):
        scores = [hypothesis.score for hypothesis in translation.n_best]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in translation.n_best:
            assert hypothesis.length == len(hypothesis.ids) + hypothesis.finished
            penalty = ((5 + hypothesis.length) / 6) ** 0.6 if hypothesis.finished else 1
            assert hypothesis.log_probability == pytest.approx(hypothesis.score * penalty)
            (loss,) = forced_loss(translation.source, hypothesis)
            assert hypothesis.log_probability == pytest.approx(loss, abs=1e-3)


def forced_loss(source, hypothesis):
    """Log-probability of an output by one forward pass."""
    translator = small_translator()
    inputs = np.array([[*translator.source_encoder.encode(source), 1]])
    targets = np.array([[*hypothesis.ids, *([1] if hypothesis.finished else [])]])
    logits = translator.models[0][0]({"inputs": inputs, "targets": targets}, training=False)
    log_probs = tf.nn.log_softmax(logits).numpy()
    yield sum(log_probs[0, i, target] for i, target in enumerate(targets[0]))


def test_losses_are_means_per_subtoken():
    translator = small_translator()
    pairs = [("a red door", "the moon"), ("the sun", "a blue garden and the stars")]
    both = list(translator.losses(pairs))
    for (source, target), loss in zip(pairs, both, strict=True):
        ids = small_encoder().encode(target)
        said = type("Said", (), {"ids": ids, "finished": True})
        (log_probability,) = forced_loss(source, said)
        assert loss == pytest.approx(-log_probability / (len(ids) + 1), rel=1e-4)


class Hasty:
    """The small model, whose end of sentence is likelier; with -1e9 it never ends one."""

    def __init__(self, bias):
        self.model, self.bias = small_model(), bias

    def start_decoding(self, inputs):
        return self.model.start_decoding(inputs)

    def step_function(self):
        step = self.model.step_function()

        def step_fn(ids, number, cache):
            logits, cache = step(ids, number, cache)
            ends = tf.range(logits.shape[-1]) == END_OF_SENTENCE
            return logits + tf.where(ends, self.bias, 0.0), cache

        return step_fn


def test_own_limit_and_the_limit_of_the_batch():
    lines = ["a", "the stars and the moon and the sun and the garden and the house"]
    longest = len(small_encoder().encode(lines[1])) + 1
    translator = Translator([[Hasty(-1e9)]], small_encoder(), small_encoder())
    options = {"beam_size": 1, "extra_length": 2}
    own = translator.translate(lines, **options)
    assert [t.length for t in own] == [len(small_encoder().encode("a")) + 3, longest + 2]
    batch = translator.translate(lines, length_limit="batch", **options)
    assert [t.length for t in batch] == [longest + 2, longest + 2]


def test_least_length():
    translator = Translator([[Hasty(5.0)]], small_encoder(), small_encoder())
    options = {"beam_size": 3, "extra_length": 7}
    free = translator.translate(sentences(6), **options)
    assert min(len(t.ids) for t in free) < 7
    found = translator.translate(sentences(6), min_length=7, **options)
    assert all(len(t.ids) >= 7 for t in found)


def test_long_line_is_decoded_alone_with_one_warning(caplog):
    lines = ["a red door", " ".join(WORDS * 4), "a blue door"]
    encoder = small_encoder()
    translator = Translator([[small_model()]], encoder, encoder, long_line=40)
    with caplog.at_level(logging.WARNING):
        translations = translator.translate(lines, **OPTIONS)
    long = len(encoder.encode(lines[1])) + 1
    assert [r.getMessage() for r in caplog.records] == [
        f"line 2 has {long} subtokens, more than the 40 the model was trained on: it is decoded "
        "alone, and its output may be poor (split it, or cut it with max_input_size)"
    ]
    assert outputs(translations[::2]) == outputs(
        small_translator().translate(lines[::2], **OPTIONS)
    )
    caplog.clear()
    cut = translator.translate(lines, max_input_size=10, **OPTIONS)
    assert f"line 2 has {long} subtokens, more than the 10 allowed: it is cut" in caplog.text
    assert cut[1].length <= 16


def test_many_long_lines_do_not_flood(caplog):
    encoder = small_encoder()
    translator = Translator([[small_model()]], encoder, encoder)
    with caplog.at_level(logging.WARNING):
        translator.translate(["the stars and the moon"] * 30, max_input_size=3, beam_size=1)
    assert len(caplog.records) == 21
    assert caplog.records[-1].getMessage() == "and 10 more long lines"


def test_a_batch_that_does_not_fit_is_halved(monkeypatch, caplog):
    lines = sentences(8)
    expected = outputs(small_translator().translate(lines, **OPTIONS))
    search = SearchGraph.search
    sizes = []

    def tight(self, inputs, *args, **kwargs):
        sizes.append(len(inputs))
        if len(inputs) > 2:
            raise tf.errors.ResourceExhaustedError(None, None, "out of memory")
        return search(self, inputs, *args, **kwargs)

    monkeypatch.setattr(SearchGraph, "search", tight)
    assert outputs(small_translator().translate(lines, **OPTIONS)) == expected
    assert sizes == [8, 4, 2, 2, 4, 2, 2]

    def tighter(self, inputs, *args, **kwargs):
        raise tf.errors.ResourceExhaustedError(None, None, "out of memory")

    monkeypatch.setattr(SearchGraph, "search", tighter)
    with pytest.raises(UserError, match="line 1 does not fit into memory even alone"):
        small_translator().translate(["a red door"], **OPTIONS)


def test_scoring_a_batch_that_does_not_fit(monkeypatch):
    pairs = [("a red door", "the moon"), ("the sun", "a garden"), ("a", "the house")]
    expected = list(small_translator().losses(pairs))
    losses, most = ensemble.losses, 1

    def tight(models, inputs, targets):
        if len(inputs) > most:
            raise tf.errors.ResourceExhaustedError(None, None, "out of memory")
        return losses(models, inputs, targets)

    monkeypatch.setattr(ensemble, "losses", tight)
    assert list(small_translator().losses(pairs)) == pytest.approx(expected, rel=1e-5)
    most = 0
    with pytest.raises(UserError, match="line 1 does not fit into memory even alone"):
        list(small_translator().losses(pairs))


def test_forced_prefix():
    lines = sentences(4)
    begins = ["the moon", "", "a garden", ""]
    free = small_translator().translate(lines, **OPTIONS)
    forced = small_translator().translate(lines, prefixes=begins, **OPTIONS)
    assert [t.text.startswith(b) for t, b in zip(forced, begins, strict=True)] == [True] * 4
    assert outputs(forced[1::2]) == outputs(free[1::2])


def test_samples_are_the_same_for_the_same_seed_in_any_batch():
    lines = sentences(6)
    options = {"sample": True, "n_best": 2, "extra_length": 4}

    def draw(seed, **more):
        translations = small_translator().translate(lines, seed=seed, **options, **more)
        return [h.ids for t in translations for h in t.n_best]

    assert draw(1) == draw(1, batch_size=2) != draw(2)
    assert (
        draw(1, top_k=1)[0]
        == small_translator().translate(lines[:1], beam_size=1, extra_length=4)[0].ids
    )


def test_more_candidates_than_the_vocabulary_has_are_all_of_it():
    options = {"sample": True, "seed": 3, "extra_length": 4}
    everything, more = (
        small_translator().translate(["a red door"], top_k=top_k, **options)
        for top_k in (small_encoder().vocab_size, 10**6)
    )
    assert outputs(more) == outputs(everything)
    (wide,) = small_translator().translate(["a door"], beam_size=150, extra_length=1)
    (loss,) = forced_loss("a door", wide.best)
    assert wide.best.log_probability == pytest.approx(loss, abs=1e-3)


def test_ensemble_averages_probabilities():
    encoder = small_encoder()
    models = [small_model(1), small_model(2)]
    both = Translator([models], encoder, encoder)
    pairs = [("a red door", "the moon sets")]
    (loss,) = both.losses(pairs)
    ids = encoder.encode(pairs[0][1])
    features = {
        "inputs": np.array([[*encoder.encode(pairs[0][0]), 1]]),
        "targets": np.array([[*ids, 1]]),
    }
    mean = np.mean([tf.nn.softmax(m(features, training=False)) for m in models], axis=0)[0]
    expected = -np.mean([np.log(mean[i, t]) for i, t in enumerate([*ids, 1])])
    assert loss == pytest.approx(expected, rel=1e-4)
    best = both.translate(["a red door"], **OPTIONS)[0]
    (again,) = both.losses([("a red door", best.text)])
    if tuple(encoder.encode(best.text)) == best.ids and best.best.finished:
        assert best.log_probability == pytest.approx(-again * best.length, rel=1e-3)
    # Twice the same model is that model.
    twice = Translator([[models[0], models[0]]], encoder, encoder)
    assert outputs(twice.translate(sentences(4), **OPTIONS)) == outputs(
        small_translator().translate(sentences(4), **OPTIONS)
    )


def test_attention_weights_on_request():
    (translation,) = small_translator().translate(["a red door"], attention=True, **OPTIONS)
    source = len(small_encoder().encode("a red door")) + 1
    shapes = {name: weights.shape for name, weights in translation.attention.items()}
    assert shapes == {
        "encoder/layer_0/self_attention": (2, source, source),
        "decoder/layer_0/self_attention": (2, translation.length, translation.length),
        "decoder/layer_0/cross_attention": (2, translation.length, source),
    }
    for weights in translation.attention.values():
        np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)


def test_threads_share_a_translator():
    lines = sentences(12)
    expected = outputs(small_translator().translate(lines, **OPTIONS))
    encoder = small_encoder()
    translator = Translator([[small_model()]], encoder, encoder)

    def work(_):
        return outputs(translator.translate(lines, **OPTIONS))

    with ThreadPoolExecutor(4) as pool:
        assert all(result == expected for result in pool.map(work, range(8)))


def test_a_replica_on_each_device():
    encoder = small_encoder()
    lines = sentences(12)
    two = Translator(
        [[small_model()], [small_model()]], encoder, encoder, devices=["CPU:0", "CPU:0"]
    )
    assert outputs(two.translate(lines, batch_size=2, **OPTIONS)) == outputs(
        small_translator().translate(lines, **OPTIONS)
    )


def test_an_output_is_one_line():
    class Loud:
        vocab_size = small_encoder().vocab_size

        def encode(self, text):
            return small_encoder().encode(text)

        def decode(self, ids):
            return "two\nlines\r\nat once"

    translator = Translator([[small_model()]], small_encoder(), Loud())
    assert translator.translate(["a door"], **OPTIONS)[0].text == "two lines  at once"


def test_a_model_without_numbers_is_refused():
    model = small_model()
    weight = model.named_weights()["shared_embedding/weights"]
    weight.assign(np.full(weight.shape, np.nan))
    translator = Translator([[model]], small_encoder(), small_encoder())
    with pytest.raises(UserError, match="not-a-number for line 1"):
        translator.translate(["a door"], **OPTIONS)
    with pytest.raises(UserError, match="not-a-number for line 1"):
        list(translator.losses([("a door", "the sun")]))
    with pytest.raises(UserError, match="not-a-number for line 1"):
        translate_for_alphas(translator, ["a door"], [0.0, 1.0], DecodeOptions(beam_size=2))


def test_learned_positions_bound_source_and_output(caplog):
    model = small_model(positions="emb", max_length=12)
    translator = Translator(
        [[model]], small_encoder(), small_encoder(), long_line=12, most_positions=12
    )
    # The least length that is asked for gives way to the model's own limit.
    options = {"beam_size": 2, "extra_length": 50, "min_length": 50}
    with caplog.at_level(logging.WARNING):
        (translation,) = translator.translate([" ".join(WORDS)], **options)
    assert translation.length == 12
    assert "more than the 12 allowed: it is cut" in caplog.text
    long = " ".join(WORDS)
    for pair in (("a", long), (long, "a")):
        with pytest.raises(UserError, match="line 2 has .* learned positions for 12"):
            list(translator.losses([("a", "a"), pair]))


def test_mistakes():
    with pytest.raises(TypeError, match="a list of sentences"):
        small_translator().translate("a door")
    with pytest.raises(UserError, match="no decoding option 'beamsize'; did you mean 'beam_size'"):
        small_translator().translate(["a door"], beamsize=4)
    with pytest.raises(UserError, match="n_best is 5, beam_size is 4"):
        small_translator().translate(["a door"], n_best=5)
