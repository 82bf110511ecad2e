"""Samples → vocabulary and shards."""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from pathlib import Path

import pytest

from keras_transformer.data import example_format, generation, shards, tfrecord
from keras_transformer.data.text_problem import Text2TextProblem, VocabType
from keras_transformer.errors import UserError

GOLDEN = Path(__file__).parents[2] / "golden" / "data_pipeline"


class OracleToyEnde(Text2TextProblem):
    approx_vocab_size = 256
    dataset_splits = [{"split": "train", "shards": 4}, {"split": "dev", "shards": 2}]  # noqa: RUF012

    def generate_samples(self, data_dir, tmp_dir, dataset_split):
        pairs = json.loads((GOLDEN / "source_pairs.json").read_text())[dataset_split]
        for source, target in pairs:
            yield {"inputs": source, "targets": target}


class Letters(Text2TextProblem):
    vocab_type = VocabType.CHARACTER
    dataset_splits = [{"split": "train", "shards": 3}, {"split": "dev", "shards": 1}]  # noqa: RUF012
    count = 40

    def generate_samples(self, data_dir, tmp_dir, dataset_split):
        for number in range(self.count):
            yield {"inputs": f"{dataset_split} {number}", "targets": str(number)}


def _read(folder, name, split):
    return [
        [example_format.decode_example(record) for record in tfrecord.read_records(path)]
        for path in shards.find(str(folder), name, split)
    ]


def _key(example):
    return tuple(example["inputs"]), tuple(example["targets"])


def test_vocabulary_and_records_are_those_of_tensor2tensor(tmp_path):
    problem = OracleToyEnde()
    problem.generate_data(str(tmp_path), str(tmp_path))
    golden = json.loads((GOLDEN / "records.json").read_text())
    name = golden["vocab_filename"]
    assert (tmp_path / name).read_bytes() == (GOLDEN / "data" / name).read_bytes()
    for shard, records in golden["records_in_file_order"].items():
        made = map(example_format.decode_example, tfrecord.read_records(str(tmp_path / shard)))
        # The order inside a shard hangs on T2T's Python; what each shard holds does not.
        assert Counter(map(_key, made)) == Counter(map(_key, records)), shard


def test_a_directory_made_by_tensor2tensor_is_taken_as_it_is(tmp_path):
    shutil.copytree(GOLDEN / "data", tmp_path / "data")
    before = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()}
    problem = OracleToyEnde()
    assert problem.is_generated(str(tmp_path / "data"))
    problem.generate_data(str(tmp_path / "data"), str(tmp_path))
    assert {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir()} == before


def test_several_processes_write_the_same_files(tmp_path, monkeypatch):
    monkeypatch.setattr(generation, "_CHUNK_SAMPLES", 10)
    for workers in (1, 3):
        folder = str(tmp_path / str(workers))
        generation.generate(OracleToyEnde(), folder, "", num_workers=workers)
    files = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert len(files) == 8  # 6 shards, vocabulary, manifest
    for name in files:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "3" / name).read_bytes()


def test_shards_are_shuffled_by_the_seed(tmp_path):
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        generation.generate(Letters(), str(tmp_path / folder), "", seed=seed)
    a, b, c = (_read(tmp_path / folder, "letters", "train") for folder in "abc")
    assert a == b != c
    assert sorted(map(_key, a[0])) == sorted(map(_key, c[0]))


def test_one_stream_is_dealt_over_all_splits(tmp_path):
    class OneStream(Letters):
        is_generate_per_split = False

    OneStream().generate_data(str(tmp_path), "")
    assert [len(s) for s in _read(tmp_path, "one_stream", "train")] == [10, 10, 10]
    assert [len(s) for s in _read(tmp_path, "one_stream", "dev")] == [10]
    # Decoding from such a data set reads the shards: there is no corpus order.
    lines = list(OneStream().source_lines("dev", data_dir=str(tmp_path)))
    assert len(lines) == 10 and all(line.startswith("train ") for line in lines)


def test_packed_shards(tmp_path):
    class LettersPacked(Letters):
        packed_length = 64

    LettersPacked().generate_data(str(tmp_path), "")
    rows = _read(tmp_path, "letters_packed", "train")[0]
    assert max(len(row["inputs"]) for row in rows) <= 64
    assert set(rows[0]) == {
        f"{side}{end}"
        for side in ("inputs", "targets")
        for end in ("", "_segmentation", "_position")
    }
    assert sum(max(row["inputs_segmentation"]) for row in rows) == 14  # 40 examples over 3 shards


def test_ids_of_the_problems_own_making(tmp_path):
    class Numbers(Letters):
        def generate_encoded_samples(self, data_dir, tmp_dir, dataset_split):
            for number in range(2, 12):
                yield {"inputs": [number, 1], "targets": [number, number, 1]}

    Numbers().generate_data(str(tmp_path), "")
    first_shard = _read(tmp_path, "numbers", "train")[0]
    assert sorted(map(_key, first_shard))[0] == ((2, 1), (2, 2, 1))


def test_a_pair_with_an_empty_side_is_left_out_and_counted(tmp_path, caplog):
    class Gaps(Letters):
        def generate_samples(self, data_dir, tmp_dir, dataset_split):
            yield from ({"inputs": a, "targets": b} for a, b in [("a", ""), (" ", "b"), ("c", "d")])

    with caplog.at_level(logging.WARNING):
        Gaps().generate_data(str(tmp_path), "")
    assert "gaps train: 2 pairs were left out because a side was empty" in caplog.text
    manifest = generation.read_manifest(str(tmp_path), "gaps")
    assert manifest["splits"]["train"] == {
        "examples": 1,
        "left_out_empty_side": 2,
        "lengths": {"2": 1},
    }


def test_a_mistake_in_the_sources_leaves_nothing_behind(tmp_path):
    class Broken(OracleToyEnde):
        def generate_samples(self, data_dir, tmp_dir, dataset_split):
            yield from super().generate_samples(data_dir, tmp_dir, dataset_split)
            if dataset_split == "dev":
                raise UserError("line 2")

    with pytest.raises(UserError, match="line 2"):
        Broken().generate_data(str(tmp_path), "")
    assert list(tmp_path.iterdir()) == []


def test_a_generation_that_was_cut_off_is_not_trusted_but_done_again(tmp_path):
    problem = Letters()

    class Killed(BaseException):
        pass

    class CutOff(Letters):
        name = "letters"

        def generate_samples(self, data_dir, tmp_dir, dataset_split):
            yield from super().generate_samples(data_dir, tmp_dir, dataset_split)
            if dataset_split == "dev":
                raise Killed

    with pytest.raises(Killed):
        CutOff().generate_data(str(tmp_path), "")
    assert not problem.is_generated(str(tmp_path))
    with pytest.raises(UserError, match="unfinished"):
        problem.shard_paths(str(tmp_path), "train")
    problem.generate_data(str(tmp_path), "")
    assert problem.is_generated(str(tmp_path))
    assert [len(s) for s in _read(tmp_path, "letters", "train")] == [14, 13, 13]


def test_no_examples_at_all_is_an_error(tmp_path):
    class Nothing(Letters):
        count = 0

    with pytest.raises(UserError, match="no example for the split train"):
        Nothing().generate_data(str(tmp_path), "")


def test_fewer_samples_and_another_number_of_shards(tmp_path):
    generation.generate(Letters(), str(tmp_path), "", num_shards=5, max_cases=7)
    assert [len(s) for s in _read(tmp_path, "letters", "train")] == [2, 2, 1, 1, 1]


def test_another_set_of_shards_is_not_mixed_with_this_one(tmp_path):
    (tmp_path / "letters-train-00000-of-00100").touch()
    with pytest.raises(UserError, match="another set"):
        Letters().generate_data(str(tmp_path), "")


def test_shards_without_their_vocabulary_are_not_made_anew(tmp_path):
    OracleToyEnde().generate_data(str(tmp_path), "")
    (tmp_path / "vocab.oracle_toy_ende.256.subwords").unlink()
    with pytest.raises(UserError, match=r"not the vocabulary file vocab\.oracle_toy_ende"):
        OracleToyEnde().generate_data(str(tmp_path), "")
