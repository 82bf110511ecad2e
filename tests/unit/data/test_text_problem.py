"""Text problems: encoders, vocabularies, plain text."""

from __future__ import annotations

from pathlib import Path

import pytest

from keras_transformer.data.problem import DatasetSplit
from keras_transformer.data.text_problem import Text2TextProblem, VocabType
from keras_transformer.errors import UserError


class Colours(Text2TextProblem):
    """As a problem written for T2T says it: with properties."""

    @property
    def approx_vocab_size(self):
        return 60

    @property
    def is_generate_per_split(self):
        return True

    @property
    def dataset_splits(self):
        return [
            {"split": DatasetSplit.TRAIN, "shards": 2},
            {"split": DatasetSplit.EVAL, "shards": 1},
        ]

    def generate_samples(self, data_dir, tmp_dir, dataset_split):
        del data_dir, tmp_dir
        for n in range(30 if dataset_split == DatasetSplit.TRAIN else 5):
            yield {"inputs": f"red {n} green", "targets": f"rot {n} grün"}


class TwoVocabularies(Colours):
    separate_vocabularies = True
    approx_source_vocab_size = 50
    approx_target_vocab_size = 70


def test_one_vocabulary_is_one_encoder(tmp_path):
    problem = Colours()
    problem.generate_data(str(tmp_path), "")
    encoders = problem.encoders(str(tmp_path))
    assert encoders["inputs"] is encoders["targets"]
    assert encoders["inputs"].decode(encoders["inputs"].encode("grün red")) == "grün red"
    assert (tmp_path / "vocab.colours.60.subwords").is_file()


@pytest.mark.parametrize("turned", [False, True])
def test_two_vocabularies_follow_the_direction(tmp_path, turned):
    TwoVocabularies().generate_data(str(tmp_path), "")
    problem = TwoVocabularies(was_reversed=turned)
    encoders = problem.encoders(str(tmp_path))
    german, english = ("inputs", "targets") if turned else ("targets", "inputs")
    assert "ü" in "".join(encoders[german].subtokens)
    assert "ü" not in "".join(encoders[english].subtokens)
    paths = {side: str(tmp_path / name) for side, name in problem.vocab_files().items()}
    elsewhere = {}
    for side, path in paths.items():
        elsewhere[side] = str(tmp_path / f"copy.{side}")
        Path(elsewhere[side]).write_bytes(Path(path).read_bytes())
    for files in (paths, elsewhere):
        found = problem.encoders_from_files(files)
        assert found[german].subtokens == encoders[german].subtokens
        assert found[english].subtokens == encoders[english].subtokens


def test_text_of_a_split_in_corpus_order(tmp_path):
    assert list(Colours().source_lines("dev")) == [f"red {n} green" for n in range(5)]
    turned = Colours(was_reversed=True)
    assert list(turned.source_lines("dev")) == list(Colours().reference_lines("dev"))


def test_a_vocabulary_that_is_there_is_used(tmp_path):
    Colours().generate_data(str(tmp_path / "a"), "")
    name = Colours().vocab_filename
    (tmp_path / "b").mkdir()
    shortened = (tmp_path / "a" / name).read_text().splitlines()
    (tmp_path / "b" / name).write_text("\n".join([*shortened, "'qqq'"]) + "\n")
    Colours().generate_data(str(tmp_path / "b"), "")
    assert "qqq" in (tmp_path / "b" / name).read_text()


def test_missing_vocabularies_are_named(tmp_path):
    with pytest.raises(UserError, match=r"no vocabulary file .*vocab\.colours\.60\.subwords"):
        Colours().encoders(str(tmp_path))

    class Words(Colours):
        vocab_type = VocabType.TOKEN

    with pytest.raises(UserError, match="cannot learn it"):
        Words().generate_data(str(tmp_path), "")

    class Wrong(Colours):
        vocab_type = "subword"

    (tmp_path / "vocab.wrong.tokens").touch()
    with pytest.raises(UserError, match="vocab_type is 'subword'"):
        Wrong().encoders(str(tmp_path))


def test_words_and_bytes(tmp_path):
    class Words(Colours):
        vocab_type = VocabType.TOKEN
        oov_token = "UNK"

    class Bytes(Colours):
        vocab_type = VocabType.CHARACTER

    (tmp_path / "vocab.words.tokens").write_text("<pad>\n<EOS>\nred\nUNK\n")
    assert Words().encoders(str(tmp_path))["inputs"].encode("red blue") == [2, 3]
    assert Bytes().encoders("")["targets"].encode("A") == [67]
    assert (
        Bytes().encoders_from_files({"inputs": None, "targets": None})["inputs"].vocab_size == 258
    )
