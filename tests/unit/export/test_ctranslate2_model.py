"""Models of every form in CTranslate2: the same ids as here."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import ctranslate2
import numpy as np
import pytest

from keras_transformer.decoding.loading import LoadedRun, load_models
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.export import ctranslate2_model
from keras_transformer.export.ctranslate2_outputs import CTranslate2Outputs
from keras_transformer.text.byte_encoder import ByteTextEncoder
from tests.programs.exported import sentences
from tests.unit.decoding.small_translator import small_encoder, small_model

GOLDEN = Path(__file__).parents[2] / "golden" / "models"
EXTRA_LENGTH = 20


def loaded_run(name: str) -> LoadedRun:
    folder = GOLDEN / name
    record = json.loads((folder / "problem.json").read_text("utf-8"))
    files = {
        "source_vocab_file": str(folder / record["input_vocab_file"]),
        "target_vocab_file": str(folder / record["target_vocab_file"]),
    }
    options = {"target_space_id": record["target_space_id"]}
    return load_models(folder, vocabularies=files, t2t_options=options)


SENTENCES = sentences(12)


# Post-norm and pre-norm, one and two vocabularies, learned positions, another target space, rows
# that no vocabulary entry has, stacks of different heights, the biases of early releases. base_v1
# (post-norm) and base_v2 (pre-norm) say 1,000 sentences below.
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "base_v1_two_vocabs",
        "base_v1_space8",
        "learned_positions",
        "no_sharing",
        "one_shard_divisor",
        "enc_dec_layers_differ",
        "t2t_1.2.9_post_norm_shared",
        "t2t_1.3.2_pre_norm_two_vocabs",
    ],
)
def test_the_same_outputs(name, tmp_path):
    loaded = loaded_run(name)
    ctranslate2_model.save(loaded, tmp_path / "model")
    compared = compare(loaded, tmp_path / "model", SENTENCES)
    assert compared == Counter({"the same": 2 * len(SENTENCES)})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["base_v1", "base_v2"])
def test_the_same_outputs_of_1000_sentences(name, tmp_path):
    loaded = loaded_run(name)
    ctranslate2_model.save(loaded, tmp_path / "model")
    lines = [*sentences(500), *sentences(500, split="dev")]
    assert len(set(lines)) > 900
    compared = compare(loaded, tmp_path / "model", lines)
    assert compared["the same"] + compared["a tie"] == 2 * len(lines) == 2000
    assert compared["a tie"] <= 4


def compare(loaded: LoadedRun, folder: Path, lines: list[str]) -> Counter[str]:
    """Greedy search, and beam 4 at alpha 0 by CTranslate2's rule, sentence by sentence.

    Outputs that differ are a tie if their log-probabilities are equal within float32 rounding.
    """
    translator = Translator.of_loaded(loaded)
    theirs = CTranslate2Outputs(folder, translator, "float32", threads=1)
    compared: Counter[str] = Counter()
    for beam_size in (1, 4):
        options = DecodeOptions(
            beam_size=beam_size,
            alpha=0.0,
            extra_length=EXTRA_LENGTH,
            ending_rule="ctranslate2",
            batch_size=100,
        )
        ours = translator.translate(lines, options)
        outputs = theirs.outputs(translator.encode(lines, options), options)
        for sentence, (ids, score) in outputs:
            expected = ours[sentence.place]
            if tuple(ids) == expected.ids:
                compared["the same"] += 1
                assert score == pytest.approx(expected.score, rel=1e-3, abs=1e-3)
            elif score == pytest.approx(expected.log_probability, abs=1e-4):
                compared["a tie"] += 1
            else:
                compared["another"] += 1
    return compared


def test_tensor2tensors_rule_finds_what_is_at_least_as_probable():
    loaded = of_small_model()
    translator = Translator(loaded.models, small_encoder(), small_encoder())
    options = {"beam_size": 2, "alpha": 0.0, "extra_length": 9}
    lines = ["the red house", "a garden", "moon and stars", "the sun sets", "a white door is blue"]
    wide = translator.translate(lines, **options)
    narrow = translator.translate(lines, ending_rule="ctranslate2", **options)
    for one, other in zip(wide, narrow, strict=True):
        assert one.score >= other.score - 1e-5 or not other.best.finished


def of_small_model(**changes) -> LoadedRun:
    encoders = {"inputs": small_encoder(), "targets": small_encoder()}
    return LoadedRun(None, encoders, [], [[small_model(**changes)]], [None])


@pytest.mark.parametrize("positions", ["timing_paper", "none"])
def test_other_positions(positions, tmp_path):
    loaded = of_small_model(positions=positions)
    ctranslate2_model.save(loaded, tmp_path / "model")
    ours = Translator(loaded.models, small_encoder(), small_encoder())
    (expected,) = ours.translate(["the red house"], beam_size=1, extra_length=9)
    translator = ctranslate2.Translator(str(tmp_path / "model"), compute_type="float32")
    tokens = json.loads((tmp_path / "model" / "tokens.json").read_text("utf-8"))
    ids = small_encoder().encode("the red house")
    (found,) = translator.translate_batch(
        [[tokens["inputs"][i] for i in ids]], beam_size=1, max_decoding_length=len(ids) + 10
    )
    assert found.hypotheses[0] == [tokens["targets"][i] for i in expected.ids]


def test_long_sources_are_not_cut_by_ctranslate2s_default(tmp_path):
    loaded = of_small_model()
    ctranslate2_model.save(loaded, tmp_path / "model")
    translator = Translator(loaded.models, small_encoder(), small_encoder())
    options = DecodeOptions(beam_size=1, alpha=0.0, extra_length=0, max_input_size=1300)
    line = "the red house " * 500
    assert len(small_encoder().encode(line)) > 1300
    (ours,) = translator.translate([line], options)
    theirs = CTranslate2Outputs(tmp_path / "model", translator, "float32")
    ((_, (ids, score)),) = theirs.outputs(translator.encode([line], options), options)
    assert tuple(ids[:40]) == ours.ids[:40]
    assert score == pytest.approx(ours.score, rel=1e-3)


def test_int8_is_smaller(tmp_path):
    loaded = of_small_model()
    for kind in ("float32", "int8"):
        ctranslate2_model.save(loaded, tmp_path / kind, kind)
    sizes = [(tmp_path / kind / "model.bin").stat().st_size for kind in ("float32", "int8")]
    assert sizes[1] < 0.95 * sizes[0]  # most of so small a model are its positions, never int8


def test_tokens_are_all_different_and_as_many_as_rows():
    tokens = ctranslate2_model.tokens_of(small_encoder(), small_encoder().vocab_size + 3)
    assert len(set(tokens)) == len(tokens) == small_encoder().vocab_size + 3
    assert tokens[:2] == ["<pad>_", "<EOS>_"]
    assert ctranslate2_model.tokens_of(ByteTextEncoder(), 258)[257] == "ID_257"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key_width": 8}, "attention_key_channels is 8"),
        ({"neighbourhood": 5}, "self_attention_neighbourhood is 5"),
        ({"preprocess": "n", "postprocess": "dan"}, "CTranslate2 computes none and dan"),
    ],
)
def test_what_it_cannot_compute_is_refused(changes, message, tmp_path):
    with pytest.raises(UserError, match=message):
        ctranslate2_model.save(of_small_model(**changes), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_ensemble_is_refused(tmp_path):
    loaded = LoadedRun(None, {}, [], [[small_model(1), small_model(2)]], [None])
    with pytest.raises(UserError, match="has no ensembles"):
        ctranslate2_model.save(loaded, tmp_path / "model")


def test_the_row_of_padding_is_zero_on_the_way_in_alone():
    spec = ctranslate2_model.specification(small_model())
    assert not np.any(spec.encoder.embeddings[0].weight[0])
    assert not np.any(spec.decoder.embeddings.weight[0])
    assert np.any(spec.decoder.projection.weight[0])
