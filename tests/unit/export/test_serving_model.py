"""What an exported model answers against what the translator says."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import registry
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.export.serving_model import ServingModel
from keras_transformer.model.transformer import Transformer
from keras_transformer.text.byte_encoder import ByteTextEncoder
from keras_transformer.text.trees_reading import parse_tree
from tests.unit.decoding.small_translator import small_encoder, small_model

LINES = [
    "the red house is green",
    "",
    "sun",
    " \u3000 ",
    "  the moon and the stars, rises  ",
    "a blue garden\u00a0stays the white door",
]


def serve(options: DecodeOptions, models=None, **changes) -> ServingModel:
    encoders = {"inputs": small_encoder(), "targets": small_encoder()}
    return ServingModel(models or [small_model()], encoders, options, **changes)


def text(tensor) -> list:
    return np.char.decode(tensor.numpy().astype(bytes), "utf-8").tolist()


@pytest.mark.parametrize(
    "options",
    [
        DecodeOptions(extra_length=12),
        DecodeOptions(beam_size=1, extra_length=12),
        DecodeOptions(beam_size=3, alpha=0.0, extra_length=9, min_length=5),
        DecodeOptions(extra_length=6, max_input_size=4),
    ],
    ids=["beam", "greedy", "min_length", "max_input_size"],
)
def test_texts_and_scores_are_the_translators(options):
    wanted = Translator([[small_model()]], small_encoder(), small_encoder())
    best = serve(options).best(tf.constant(LINES))
    translations = wanted.translate(LINES, options)
    assert text(best["outputs"]) == [each.text for each in translations]
    np.testing.assert_allclose(best["scores"], [each.score for each in translations], rtol=1e-4)


def test_beams_are_the_n_best():
    options = DecodeOptions(extra_length=12)
    translator = Translator([[small_model()]], small_encoder(), small_encoder())
    beams = serve(options).beams(tf.constant(LINES))
    translations = translator.translate(LINES, options, n_best=4)
    for texts, scores, each in zip(
        text(beams["outputs"]), beams["scores"].numpy(), translations, strict=True
    ):
        found = len(each.n_best)
        assert texts == [h.text for h in each.n_best] + [""] * (4 - found)
        np.testing.assert_allclose(scores[:found], [h.score for h in each.n_best], rtol=1e-4)
        assert (scores[found:] == -1e7).all()


def test_the_limit_of_the_batch():
    options = DecodeOptions(beam_size=1, extra_length=3, length_limit="batch")
    lines = ["sun", "the red house and the blue garden and the sun"]
    wanted = Translator([[small_model()]], small_encoder(), small_encoder())
    found = text(serve(options).best(tf.constant(lines))["outputs"])
    assert found == [each.text for each in wanted.translate(lines, options)]
    assert found != text(serve(options.replace(length_limit="sentence")).best(lines)["outputs"])


def test_an_ensemble():
    options = DecodeOptions(extra_length=8)
    models = [small_model(1), small_model(2)]
    wanted = Translator([models], small_encoder(), small_encoder()).translate(LINES, options)
    found = serve(options, models).best(tf.constant(LINES))
    assert text(found["outputs"]) == [each.text for each in wanted]


def test_learned_positions_cut_source_and_output():
    model = small_model(positions="emb", max_length=7)
    wanted = Translator([[model]], small_encoder(), small_encoder(), most_positions=7)
    found = serve(DecodeOptions(), [model], most_positions=7).best(tf.constant(LINES))
    assert text(found["outputs"]) == [each.text for each in wanted.translate(LINES)]


def test_ids_and_examples():
    model = serve(DecodeOptions(extra_length=10))
    rows = [[*small_encoder().encode("the red house"), 1], [], [*small_encoder().encode("sun"), 1]]
    longest = max(map(len, rows))
    padded = [row + [0] * (longest + 2 - len(row)) for row in rows]
    found = model.tokens(tf.constant(padded))
    texts = model.best(tf.constant(["the red house", "", "sun"]))
    decoded = [
        small_encoder().decode([i for i in row if i > 1]) for row in found["outputs"].numpy()
    ]
    assert [t.strip() for t in decoded] == [t.strip() for t in text(texts["outputs"])]
    np.testing.assert_allclose(found["scores"], texts["scores"], rtol=1e-5)
    assert found["outputs"].numpy()[1].tolist() == [0] * found["outputs"].shape[1]

    serialized = [
        tf.train.Example(
            features=tf.train.Features(
                feature={"inputs": tf.train.Feature(int64_list=tf.train.Int64List(value=row))}
            )
        ).SerializeToString()
        for row in rows
    ]
    from_examples = model.examples(tf.constant(serialized))
    np.testing.assert_array_equal(from_examples["outputs"], found["outputs"])
    np.testing.assert_allclose(from_examples["scores"], found["scores"], rtol=1e-5)


def test_an_empty_batch():
    model = serve(DecodeOptions())
    assert model.beams(tf.zeros([0], tf.string))["outputs"].shape == [0, 4]
    assert model.tokens(tf.zeros([0, 0], tf.int32))["scores"].shape == [0]


def test_text_that_is_not_utf8_is_answered():
    found = serve(DecodeOptions(extra_length=3)).best(tf.constant([b"the \xff sun"]))
    assert np.isfinite(found["scores"]).all()


def test_the_signatures():
    signatures = serve(DecodeOptions()).signatures()
    assert sorted(signatures) == ["beams", "examples", "serving_default", "tokens"]
    shapes = {
        name: str(each.structured_outputs["outputs"].shape) for name, each in signatures.items()
    }
    assert shapes["serving_default"] == "(None,)" and shapes["beams"] == "(None, 4)"


def test_without_a_graph_for_the_text_there_are_ids():
    class OwnEncoder:
        vocab_size = small_encoder().vocab_size

    encoders = {"inputs": OwnEncoder(), "targets": small_encoder()}
    model = ServingModel([small_model()], encoders, DecodeOptions())
    assert not model.takes_text
    signatures = model.signatures()
    assert sorted(signatures) == ["examples", "serving_default", "tokens"]
    ids = tf.constant([[5, 1]])
    found = signatures["serving_default"](inputs=ids)["outputs"]
    np.testing.assert_array_equal(found, model.tokens(ids)["outputs"])


def test_text_of_bytes():
    encoder = ByteTextEncoder()
    model = Transformer(
        258, 258, hidden_size=8, filter_size=8, num_heads=1, encoder_layers=1, decoder_layers=1
    )
    options = DecodeOptions(extra_length=6)
    wanted = Translator([[model]], encoder, encoder).translate(LINES, options)
    served = ServingModel([model], {"inputs": encoder, "targets": encoder}, options)
    assert text(served.best(tf.constant(LINES))["outputs"]) == [each.text for each in wanted]


def test_samples_are_refused():
    with pytest.raises(UserError, match="samples cannot be exported"):
        serve(DecodeOptions(sample=True))


def test_a_parser_gives_trees_over_the_words():
    problem = registry.problem("sample_parsing")
    wanted = Translator([[small_model()]], small_encoder(), small_encoder(), problem=problem)
    options = DecodeOptions(extra_length=6)
    lines = ["the red house stays .", "", "( sun )"]
    found = serve(options, text_steps=problem.text_steps_in_graph()).best(tf.constant(lines))
    trees = text(found["outputs"])
    assert [parse_tree(tree).words() for tree in trees if tree] == [
        ["the", "red", "house", "stays", "."],
        ["(", "sun", ")"],
    ]
    prepared = [problem.prepare_input(line) for line in lines]
    assert trees == [each.text for each in wanted.translate(prepared, options)]


def test_a_problem_whose_steps_have_no_graph_gives_ids():
    class Shouting(registry.problem("sample_ende").__class__):
        def finish_output(self, text, source_text):
            return text.upper()

    model = serve(DecodeOptions(), text_steps=Shouting().text_steps_in_graph())
    assert not model.takes_text
