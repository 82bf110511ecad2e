"""Faults that people met while reading parallel text."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from keras_transformer import registry
from keras_transformer.config import HParams
from keras_transformer.data import example_format, parallel_text, pipeline, shards, tfrecord
from keras_transformer.errors import UserError
from keras_transformer.text.lines import count_lines
from keras_transformer.text.subword_encoder import SubwordTextEncoder

DATA = Path(__file__).parent / "data"


def _problem(source, target, **options):
    paths = {"train_source": source, "train_target": target}
    paths |= {"dev_source": source, "dev_target": target}
    options = options or {"vocab_size": 60}
    return registry.problem("text2text", **{k: str(v) for k, v in paths.items()}, **options)


def _examples(folder):
    return sorted(
        tuple(map(tuple, example_format.decode_example(record).values()))
        for path in shards.find(str(folder), "text2text", "train")
        for record in tfrecord.read_records(path)
    )


def test_windows_line_ends_change_nothing(tmp_path):
    """tensorflow/tensor2tensor#1395."""
    for name in ("crlf", "lf"):
        file = DATA / f"{name}.src"
        _problem(file, file).generate_data(str(tmp_path / name), "")
    name = "vocab.text2text.60.subwords"
    vocabulary = (tmp_path / "crlf" / name).read_bytes()
    assert vocabulary == (tmp_path / "lf" / name).read_bytes()
    assert b"\r" not in vocabulary
    assert _examples(tmp_path / "crlf") == _examples(tmp_path / "lf")


def test_a_stray_carriage_return_or_tab_spoils_nothing(tmp_path):
    """OpenNMT/OpenNMT-tf#108, tensorflow/nmt#268, OpenNMT/OpenNMT-py#758."""
    source, target = DATA / "lone_cr.src", DATA / "lone_cr.tgt"
    assert [pair[1] for pair in parallel_text.read_pairs(str(source), str(target))] == [
        "erster Satz",
        "zweiter Satz",
        "dritter Satz",
    ]
    problem = _problem(source, target)
    problem.generate_data(str(tmp_path), "")
    assert len(_examples(tmp_path)) == 3
    path = tmp_path / problem.vocab_filename
    encoder = SubwordTextEncoder.load(path)
    assert len(path.read_bytes().split(b"\n")) - 1 == encoder.vocab_size
    encoder.save(tmp_path / "again")
    assert SubwordTextEncoder.load(tmp_path / "again").subtokens == encoder.subtokens
    text = next(iter(problem.source_lines("train")))
    assert encoder.decode(encoder.encode(text)) == text


def test_nul_is_an_ordinary_character():
    """OpenNMT/OpenNMT#383, OpenNMT/OpenNMT#489, OpenNMT/OpenNMT-py#299."""
    source, target = str(DATA / "nul_bytes.src"), str(DATA / "nul_bytes.tgt")
    assert parallel_text.require_same_length(source, target) == 3
    pairs = list(parallel_text.read_pairs(source, target))
    assert len(pairs) == 3
    assert pairs[2] == ("after the zero", "nach der Null")


def test_a_blank_on_one_side_leaves_out_the_pair(tmp_path, caplog):
    """stefan-it/nmt-en-vi#6."""
    problem = _problem(DATA / "one_sided_blank.src", DATA / "one_sided_blank.tgt")
    with caplog.at_level(logging.WARNING):
        problem.generate_data(str(tmp_path), "")
    encoder = problem.encoders(str(tmp_path))["inputs"]
    text = [[encoder.decode(ids[:-1]) for ids in pair] for pair in _examples(tmp_path)]
    assert sorted(text) == [["a", "A"], ["d", "D"]]
    assert "2 pairs were left out because a side was empty" in caplog.text


@pytest.mark.parametrize("place", ["train_source", "dev_target"])
def test_bytes_that_are_not_utf8_are_named_and_leave_nothing(tmp_path, place):
    """tensorflow/tensor2tensor#1246, #857, #359."""
    good = DATA / "lone_cr.tgt"
    options = dict.fromkeys(("train_source", "train_target", "dev_source", "dev_target"), str(good))
    options[place] = str(DATA / "bad_utf8.src")
    with pytest.raises(UserError, match=r"bad_utf8\.src, line 2: the byte 0xA3"):
        registry.problem("text2text", **options).generate_data(str(tmp_path / "data"), "")
    assert not list((tmp_path / "data").iterdir())


def test_bytes_that_are_not_utf8_can_be_replaced_and_are_counted(tmp_path, caplog):
    file = DATA / "bad_utf8.src"
    problem = _problem(file, file, utf8_errors="replace")
    with caplog.at_level(logging.WARNING):
        problem.generate_data(str(tmp_path), "")
    assert "bad_utf8.src: 1 records hold bytes that are not UTF-8" in caplog.text
    assert len(_examples(tmp_path)) == 3
    assert "ten \ufffd a piece" in list(problem.source_lines("train"))


def test_records_end_at_lf_only():
    """huggingface/evaluate#601, src-d/style-analyzer#519."""
    source, target = (str(DATA / f"unicode_separators.{side}") for side in ("src", "tgt"))
    assert count_lines(source) == count_lines(target) == 4
    pairs = list(parallel_text.read_pairs(source, target))
    assert len(pairs) == 4
    assert pairs[3] == ("four plain words here", "vier einfache Worte hier")


def test_a_restarted_run_sees_the_whole_data(tmp_path):
    """mozilla/DeepSpeech#611: a position is kept, so nothing is read twice."""
    import tensorflow as tf

    problem = _problem(DATA / "resume_order.src", DATA / "resume_order.tgt")
    problem.generate_data(str(tmp_path / "data"), "")
    hp = HParams().replace(use_fixed_batch_size=True, batch_size=1, max_length=256)
    seen = []
    saved = None
    for _ in range(4):
        iterator = iter(pipeline.training_dataset(problem, str(tmp_path / "data"), hp, seed=5))
        position = tf.train.Checkpoint(iterator=iterator)
        if saved:
            position.restore(saved)
        for _ in range(2):
            seen.append(tuple(next(iterator)["inputs"].numpy()[0]))
        saved = position.save(str(tmp_path / "position"))
    assert len(set(seen)) >= 6


def test_an_odd_last_batch_is_given_as_it_is(tmp_path):
    """OpenNMT/OpenNMT-tf#544: five pairs in batches of two, for two devices."""
    problem = _problem(DATA / "empty_replica.src", DATA / "empty_replica.tgt")
    problem.generate_data(str(tmp_path), "")
    hp = HParams().replace(use_fixed_batch_size=True, batch_size=1, max_length=256)
    batches = list(pipeline.evaluation_dataset(problem, str(tmp_path), hp, num_replicas=2))
    assert [len(batch["inputs"]) for batch in batches] == [2, 2, 1]
