"""T2T run directories as they are: flags, old names, vocabularies."""

from __future__ import annotations

import shutil

import pytest

from keras_transformer import registry
from keras_transformer.data import pipeline
from keras_transformer.errors import UserError
from keras_transformer.run_dir import RunDir
from keras_transformer.t2t_compat.run_directory import read_flags
from tests.unit.t2t_compat.bundles import BASE_V3, GOLDEN, MODELS, copy_run

VOCAB = "vocab.shared.subwords"
WMT = "vocab.translate_ende_wmt32k.32768.subwords"


@pytest.fixture
def run(tmp_path):
    return copy_run(BASE_V3, tmp_path / "run")


def test_flags_of_both_files_are_read(run):
    (run / "flags.txt").write_text("--problem=translate_ende_wmt32k\n--data_dir='/gone/data'\n")
    (run / "flags_t2t.txt").write_text("--hparams_set=transformer_base\n")
    assert read_flags(run) == {
        "problem": "translate_ende_wmt32k",
        "data_dir": "/gone/data",
        "hparams_set": "transformer_base",
    }


def test_the_problem_and_set_come_from_the_flags(run):
    (run / "flags.txt").write_text(
        "--problem=translate_ende_wmt32k\n--hparams_set=transformer_base\n--data_dir=/gone/data\n"
    )
    shutil.move(run / VOCAB, run / WMT)
    opened = RunDir.open(run)
    assert opened.is_t2t and opened.problem.name == "translate_ende_wmt32k"
    assert opened.hparams_set == "transformer_base"
    assert opened.data_dir is None  # another machine's
    assert opened.encoders()["inputs"].vocab_size == 199


@pytest.mark.parametrize("old", ["vocab.ende.32768", "tokens.vocab.32768"])
def test_old_problem_and_vocabulary_names(run, tmp_path, old):
    (run / "flags.txt").write_text("--problems=wmt_ende_tokens_32k\n")
    data = tmp_path / "data"
    data.mkdir()
    shutil.move(run / VOCAB, data / old)
    opened = RunDir.open(run, data_dir=str(data))
    assert opened.encoders(data_dir=data)["targets"].vocab_size == 199
    assert opened.problem.target_space_id == 8


def test_a_vocabulary_given_by_name_needs_no_problem(run):
    opened = RunDir.open(run, vocab_file=str(run / VOCAB))
    assert opened.problem.name == "text2text"
    assert opened.encoders()["inputs"].vocab_size == 199


def test_two_vocabularies():
    folder = MODELS / "base_v1_two_vocabs"
    opened = RunDir.open(
        folder,
        source_vocab_file=str(folder / "vocab.inputs.subwords"),
        target_vocab_file=str(folder / "vocab.targets.subwords"),
        target_space_id=8,
    )
    encoders = opened.encoders()
    assert encoders["inputs"].vocab_size != encoders["targets"].vocab_size
    with pytest.raises(UserError, match="give both"):
        RunDir.open(folder, source_vocab_file=str(folder / "vocab.inputs.subwords"))


def test_the_one_vocabulary_in_the_folder_needs_no_problem(run):
    opened = RunDir.open(run)
    assert opened.problem.name == "text2text"
    assert opened.encoders()["targets"].vocab_size == 199


@pytest.mark.parametrize("vocabularies", [0, 2])
def test_without_a_problem_it_is_asked_for(run, vocabularies):
    if vocabularies:
        shutil.copy(run / VOCAB, run / WMT)
    else:
        (run / VOCAB).unlink()
    with pytest.raises(UserError, match=r"--problem=\.\.\..*--vocab_file"):
        RunDir.open(run)


def test_a_missing_vocabulary_lists_the_places(run):
    with pytest.raises(UserError, match=f"was not found; tried .*{WMT}"):
        RunDir.open(run, problem="translate_ende_wmt32k").encoders()


def test_a_folder_of_something_else(tmp_path):
    with pytest.raises(UserError, match="no run directory"):
        RunDir.open(tmp_path)


def test_hparams_json_with_unknown_keys_and_paths_of_another_machine(run):
    text = (run / "hparams.json").read_text().replace('"data_dir": ""', '"data_dir": "/home/x"')
    (run / "hparams.json").write_text(text.replace("{", '{"frobnicate": 1,', 1))
    opened = RunDir.open(run, vocab_file=str(run / VOCAB))
    assert any("frobnicate" in note for note in opened.description.notes)
    assert opened.data_dir is None


def test_a_set_by_name_where_hparams_json_is_missing(run):
    (run / "hparams.json").unlink()
    (run / "flags.txt").write_text(
        "--hparams_set=transformer_base\n--hparams=num_heads=4,hidden_size=32\n"
    )
    opened = RunDir.open(run, vocab_file=str(run / VOCAB))
    assert (opened.hparams.num_heads, opened.hparams.filter_size) == (4, 64)


@pytest.mark.parametrize(
    ("problem", "vocabulary"),
    [
        ("wmt_ende_tokens_8k", "tokens.vocab.8192"),
        ("wmt_ende_tokens_8k", "vocab.ende.8192"),
        ("translate_ende_wmt8k", "vocab.ende.8192"),
    ],
)
def test_a_data_directory_of_2017_is_read_as_it_is(tmp_path, problem, vocabulary):
    data = GOLDEN / "data_pipeline" / "data"
    shutil.copy(data / "vocab.oracle_toy_ende.256.subwords", tmp_path / vocabulary)
    for split, total in (("train", 4), ("dev", 2)):
        for shard in range(total):
            part = f"{split}-{shard:05d}-of-{total:05d}"
            shutil.copy(data / f"oracle_toy_ende-{part}", tmp_path / f"{problem}-{part}")
    old = registry.problem(problem)
    assert old.is_generated(str(tmp_path))
    hp = registry.hparams("transformer_base", "batch_size=400,max_length=100")
    batches = list(pipeline.evaluation_dataset(old, str(tmp_path), hp, "dev", 1))
    assert sum(len(batch["inputs"]) for batch in batches) == 120
    run = RunDir.create(tmp_path / "run", hp, old, tmp_path)
    assert run.encoders()["inputs"].vocab_size == old.encoders(str(tmp_path))["inputs"].vocab_size


def test_data_of_2017_is_not_made_anew(tmp_path):
    with pytest.raises(UserError, match="kt-datagen --problem=translate_ende_wmt32k"):
        registry.problem("wmt_ende_tokens_32k").generate_data(str(tmp_path), str(tmp_path))
