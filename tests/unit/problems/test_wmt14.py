"""WMT: names, files and vocabularies as T2T has them."""

from __future__ import annotations

import io
import tarfile

import pytest

from keras_transformer import registry
from keras_transformer.data import generation, shards
from keras_transformer.errors import UserError

NAMES = {
    "translate_ende_wmt8k": "vocab.translate_ende_wmt8k.8192.subwords",
    "translate_ende_wmt32k": "vocab.translate_ende_wmt32k.32768.subwords",
    "translate_ende_wmt8k_packed": "vocab.translate_ende_wmt8k.8192.subwords",
    "translate_ende_wmt32k_packed": "vocab.translate_ende_wmt32k.32768.subwords",
    "translate_ende_wmt_characters": None,
    "translate_enfr_wmt_small8k": "vocab.translate_enfr_wmt_small8k.8192.subwords",
    "translate_enfr_wmt_small32k": "vocab.translate_enfr_wmt_small32k.32768.subwords",
    "translate_enfr_wmt8k": "vocab.translate_enfr_wmt8k.8192.subwords",
    "translate_enfr_wmt32k": "vocab.translate_enfr_wmt32k.32768.subwords",
    "translate_enfr_wmt32k_packed": "vocab.translate_enfr_wmt32k.32768.subwords",
    "translate_enfr_wmt_small_characters": None,
    "translate_enfr_wmt_characters": None,
    "translate_ende_wmt_bpe32k": "vocab.bpe.32000",
}


@pytest.mark.parametrize(("name", "vocabulary"), NAMES.items())
def test_names_vocabularies_and_splits(name, vocabulary):
    problem = registry.problem(name)
    assert problem.name == name
    assert problem.vocab_files() == {"inputs": vocabulary, "targets": vocabulary}
    splits = {row["split"]: row["shards"] for row in problem.dataset_splits}
    assert splits == {"train": 100, "dev": 1}
    assert problem.packed_length == (256 if name.endswith("packed") else None)
    assert (problem.input_space_id, problem.target_space_id) == (0, 0)


def test_short_names():
    assert registry.problem("wmt14_ende").name == "translate_ende_wmt32k"
    turned = registry.problem("wmt14_enfr_rev")
    assert (turned.name, turned.was_reversed) == ("translate_enfr_wmt32k", True)


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("translate_ende_wmt_clean32k", "translate_ende_wmt32k"),
        ("translate_ende_pc32k", "text2text"),
        ("translate_enfr_wmt32k_with_backtranslate_fr", "text2text"),
        ("translate_ende2018_wmt32k", "translate_ende_wmt32k"),
        ("wmt_ende_bpe32k", "translate_ende_wmt_bpe32k"),
        ("parsing_icelandic16k", "wsj_parsing"),
        ("ice_parsing_tokens", "wsj_parsing"),
        ("wmt_parsing_tokens_8k", "parsing_english_ptb8k"),
    ],
)
def test_refused_names_say_the_way_out(name, way_out):
    with pytest.raises(UserError, match=rf"{name}' is not offered: .*{way_out}"):
        registry.problem(name)


def _tar(path, files):
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))


@pytest.fixture
def ende_archives(tmp_path):
    folder = tmp_path / "corpora"
    folder.mkdir()
    for archive, stem in (
        ("training-parallel-nc-v13.tgz", "training-parallel-nc-v13/news-commentary-v13.de-en"),
        ("training-parallel-commoncrawl.tgz", "commoncrawl.de-en"),
        ("training-parallel-europarl-v7.tgz", "training/europarl-v7.de-en"),
    ):
        pairs = range(60)
        _tar(
            folder / archive,
            {
                f"{stem}.en": "".join(f"{stem} says {n} words .\n" for n in pairs),
                f"{stem}.de": "".join(f"{stem} sagt {n} Wörter .\n" for n in pairs),
            },
        )
    _tar(
        folder / "dev.tgz",
        {"dev/newstest2013.en": "It says .\n\n", "dev/newstest2013.de": "Es sagt .\nLeer .\n"},
    )
    return folder


@pytest.mark.parametrize("name", ["translate_ende_wmt8k", "translate_ende_wmt8k_packed"])
def test_from_archives_to_shards(ende_archives, tmp_path, name):
    problem = registry.problem(name)
    data = str(tmp_path / "data")
    problem.generate_data(data, str(ende_archives))
    assert len(shards.find(data, name, "train")) == 100
    manifest = generation.read_manifest(data, name)
    assert manifest["splits"]["train"]["examples"] == 180
    assert manifest["splits"]["dev"]["left_out_empty_side"] == 1
    assert (tmp_path / "data" / "vocab.translate_ende_wmt8k.8192.subwords").is_file()
    # Corpus order: news commentary first, English the source.
    first = next(problem.source_lines("train", tmp_dir=str(ende_archives)))
    assert first.startswith("training-parallel-nc-v13/news-commentary")


def test_the_dev_set_can_be_read_from_the_shards_alone(ende_archives, tmp_path):
    problem = registry.problem("translate_ende_wmt8k")
    data = str(tmp_path / "data")
    problem.generate_data(data, str(ende_archives))
    elsewhere = str(tmp_path / "nothing")
    assert list(problem.source_lines("dev", data, elsewhere)) == ["It says ."]
    turned = registry.problem("translate_ende_wmt8k_rev")
    assert list(turned.source_lines("dev", data, elsewhere)) == ["Es sagt ."]


def test_the_test_set_is_found_as_plain_files(tmp_path):
    for language, text in (("en", "Gutach\n"), ("de", "Gutach:\n")):
        (tmp_path / f"newstest2014.{language}").write_text(text)
    problem = registry.problem("wmt14_ende")
    assert list(problem.reference_lines("test", tmp_dir=str(tmp_path))) == ["Gutach:"]


def test_what_is_missing_is_listed_when_there_is_no_network(tmp_path, monkeypatch):
    from keras_transformer.data import download

    monkeypatch.setattr(download, "_probe", lambda url: "no network")
    with pytest.raises(UserError) as caught:
        registry.problem("wmt14_enfr").generate_data(str(tmp_path / "d"), str(tmp_path))
    for archive in (
        "wmt13/training-parallel-commoncrawl.tgz",
        "wmt13/training-parallel-europarl-v7.tgz",
        "wmt14/training-parallel-nc-v9.tgz",
        "wmt10/training-giga-fren.tar",
        "wmt13/training-parallel-un.tgz",
        "wmt17/translation-task/dev.tgz",
    ):
        assert archive in str(caught.value)
    assert not (tmp_path / "d").exists()


def test_sources_are_remembered_and_checked():
    assert registry.problem("wmt14_ende", source="tfds").options == {"source": "tfds"}
    assert registry.problem("wmt14_ende").options == {}
    with pytest.raises(UserError, match="tensorflow-datasets has no set"):
        registry.problem("translate_enfr_wmt_small8k", source="tfds")
    with pytest.raises(UserError, match="--source=web"):
        registry.problem("wmt14_ende", source="web")


def test_bpe_text_is_read_from_local_files(tmp_path):
    problem = registry.problem("translate_ende_wmt_bpe32k")
    with pytest.raises(UserError, match=r"wmt16_en_de\.tar\.gz"):
        problem.generate_data(str(tmp_path / "d"), str(tmp_path))
    for stem in ("train.tok.clean.bpe.32000", "newstest2013.tok.bpe.32000"):
        (tmp_path / f"{stem}.en").write_text("a b@@ c\n")
        (tmp_path / f"{stem}.de").write_text("A d@@ c\n")
    (tmp_path / "vocab.bpe.32000").write_text("a\nb@@\nc\nA\n")
    problem.generate_data(str(tmp_path / "d"), str(tmp_path))
    encoder = problem.encoders(str(tmp_path / "d"))["targets"]
    assert encoder.encode("A d@@ c") == [5, 6, 4]  # d@@ is not in the list: UNK, the last entry
