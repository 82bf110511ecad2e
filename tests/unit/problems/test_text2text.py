"""A user's own parallel text."""

from __future__ import annotations

import gzip
import json

import pytest

from keras_transformer import registry
from keras_transformer.data import example_format, tfrecord
from keras_transformer.errors import UserError


@pytest.fixture
def files(tmp_path):
    paths = {}
    for split, count in (("train", 50), ("dev", 4)):
        for side, word in (("source", "number"), ("target", "Nummer")):
            path = tmp_path / f"{split}.{side}.gz"
            path.write_bytes(gzip.compress("".join(f"{word} {n}\n" for n in range(count)).encode()))
            paths[f"{split}_{side}"] = str(path)
    return paths


def test_data_is_made_and_rebuilt_from_the_options(files, tmp_path):
    problem = registry.problem("text2text", **files, vocab_size=60)
    data = str(tmp_path / "data")
    problem.generate_data(data, "")
    options = json.loads(json.dumps(problem.options))
    again = registry.problem("text2text_rev", **options)
    assert again.is_generated(data)
    assert again.vocab_files()["inputs"] == "vocab.text2text.60.subwords"
    assert list(again.source_lines("dev", data)) == [f"Nummer {n}" for n in range(4)]


def test_the_files_may_be_gone_later(files, tmp_path):
    data = str(tmp_path / "data")
    problem = registry.problem("text2text", **files, vocab_size=60)
    problem.generate_data(data, "")
    for path in files.values():
        (tmp_path / path).unlink()
    again = registry.problem("text2text", **problem.options)
    assert again.is_generated(data)
    assert sorted(again.source_lines("dev", data)) == [f"number {n}" for n in range(4)]


def test_data_of_other_files_is_not_taken_for_these(files, tmp_path):
    data = str(tmp_path / "data")
    registry.problem("text2text", **files, vocab_size=60).generate_data(data, "")
    with pytest.raises(UserError, match="made from other files or with another vocabulary"):
        registry.problem("text2text", **files, vocab_size=61).generate_data(data, "")
    other = tmp_path / "other.gz"
    other.write_bytes(gzip.compress(b"x\n" * 50))
    with pytest.raises(UserError, match="use another --data_dir"):
        registry.problem(
            "text2text", **{**files, "train_source": str(other)}, vocab_size=60
        ).is_generated(data)


def test_a_given_vocabulary_is_copied(files, tmp_path):
    given = tmp_path / "mine"
    given.write_text("'<pad>_'\n'<EOS>_'\n" + "".join(f"'{c}'\n" for c in "numberN_ 0123456789\\;"))
    problem = registry.problem("text2text", **files, vocab_file=str(given))
    problem.generate_data(str(tmp_path / "data"), "")
    assert problem.encoders(str(tmp_path / "data"))["inputs"].vocab_size == 23
    given.write_text("'a'\n'b'\n")
    with pytest.raises(UserError, match="first two lines must be"):
        registry.problem("text2text", **files, vocab_file=str(given)).generate_data(
            str(tmp_path / "other"), ""
        )


def test_separate_vocabularies(files, tmp_path):
    problem = registry.problem("text2text", **files, vocab_size=60, separate_vocabularies=True)
    problem.generate_data(str(tmp_path / "data"), "")
    encoders = problem.encoders(str(tmp_path / "data"))
    assert "N" in encoders["targets"].alphabet and "N" not in encoders["inputs"].alphabet


def test_what_is_missing_is_said_at_once(files, tmp_path):
    with pytest.raises(UserError, match="--train_source is not given; .*--dev_target is not given"):
        registry.problem("text2text").generate_data(str(tmp_path), "")
    with pytest.raises(UserError, match="--dev_source=/none: there is no such file"):
        registry.problem("text2text", **{**files, "dev_source": "/none"}).generate_data(
            str(tmp_path), ""
        )
    with pytest.raises(UserError, match="has no test files"):
        list(registry.problem("text2text", **files).source_lines("test"))


def test_files_of_different_length_are_refused(files, tmp_path):
    (tmp_path / "short").write_text("one\n")
    with pytest.raises(UserError, match=r"has 50 lines, .*short has 1"):
        registry.problem(
            "text2text", **{**files, "train_target": str(tmp_path / "short")}
        ).generate_data(str(tmp_path / "data"), "")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 100, "vocab_file": "x"},
        {"source_vocab_file": "x"},
        {"vocab_file": "x", "separate_vocabularies": True},
    ],
)
def test_options_that_contradict_each_other(options):
    with pytest.raises(UserError, match="vocab_file"):
        registry.problem("text2text", **options)


def test_an_unknown_option_is_named():
    with pytest.raises(UserError, match="train_src"):
        registry.problem("text2text", train_src="x")


def test_packed_rows_have_files_of_their_own(files, tmp_path):
    data = str(tmp_path / "data")
    plain = registry.problem("text2text", **files, vocab_size=60)
    packed = registry.problem("text2text", **files, vocab_size=60, packed_length=40)
    for problem in (plain, packed):
        problem.generate_data(data, "")
    assert registry.problem("text2text", **packed.options).packed_length == 40
    rows = [
        example_format.decode_example(record)
        for path in packed.shard_paths(data, "train")
        for record in tfrecord.read_records(path)
    ]
    assert sum(max(row["inputs_segmentation"]) for row in rows) == 50
    assert max(len(row["inputs"]) for row in rows) <= 40
    with pytest.raises(UserError, match="made from other files"):
        registry.problem("text2text", **files, vocab_size=60, packed_length=50).is_generated(data)
