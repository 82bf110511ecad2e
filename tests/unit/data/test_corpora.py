"""Finding corpora, and T2T's sample of them."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from keras_transformer.data import corpora, download
from keras_transformer.data.corpora import Corpus
from keras_transformer.errors import UserError

NEWS = Corpus(("http://host.invalid/news.tgz",), ("news/n.en", "news/n.de"))
PLAIN = Corpus(("http://host.invalid/t.en", "http://host.invalid/t.de"), ("t.en", "t.de"))


def _news_archive(folder):
    with tarfile.open(folder / "news.tgz", "w:gz") as tar:
        for name, text in (("news/n.en", b"a\n"), ("news/n.de", b"A\n")):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))


def test_files_are_found_in_place_loose_and_packed(tmp_path):
    find = lambda name: corpora.find_file(str(tmp_path), name)  # noqa: E731
    assert find("training/x.en") is None
    (tmp_path / "x.en.gz").touch()
    assert find("training/x.en") == str(tmp_path / "x.en.gz")
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "x.en").touch()
    assert find("training/x.en") == find("training/x.en.gz") == str(tmp_path / "training/x.en")


def test_an_archive_that_lies_there_is_unpacked_and_its_checksum_kept(tmp_path):
    _news_archive(tmp_path)
    assert corpora.missing_downloads(str(tmp_path), [NEWS]) == {}
    corpora.prepare(str(tmp_path), [NEWS], "p")
    assert corpora.corpus_paths(str(tmp_path), NEWS) == (
        str(tmp_path / "news/n.en"),
        str(tmp_path / "news/n.de"),
    )
    assert (tmp_path / download.CHECKSUMS).is_file()


def test_without_network_the_missing_files_are_listed(tmp_path):
    (tmp_path / "t.de").touch()
    with pytest.raises(UserError) as caught:
        corpora.prepare(str(tmp_path), [NEWS, PLAIN], "p")
    text = str(caught.value)
    assert "problem p needs files" in text
    assert f"put it at {tmp_path}/news.tgz" in text
    assert f"or its files at {tmp_path}/news/n.en and {tmp_path}/news/n.de" in text
    assert "http://host.invalid/t.en\n" in text and f"put it at {tmp_path}/t.en" in text
    assert "t.de" not in text


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_vocabulary_sample_skips_evenly_and_stops_at_the_budget(tmp_path, ending):
    # 100 lines of 4 bytes, budget 40: skip = floor(400 / 40 / 2) = 5, so lines 5, 11, 17, … are
    # taken, each of 3 characters, until 40 are used up: 14 lines (13 leave 1), 16 exist.
    lines = "".join(f"{n:03d}\n" for n in range(100)).encode()
    for name in ("a", "b"):
        data = gzip.compress(lines) if ending else lines
        (tmp_path / (name + ending)).write_bytes(data)
    corpus = Corpus(("u",), ("a" + ending, "b" + ending))
    sample = list(corpora.vocab_sample(str(tmp_path), [corpus], budget=40))
    taken = [f"{n:03d}" for n in range(5, 84, 6)]
    assert len(taken) == 14
    assert sample == taken * 2


def test_the_sample_of_a_small_file_is_the_whole_file(tmp_path):
    for name, text in (("a", " x \n\ny\n"), ("b", "ä\r\n")):
        (tmp_path / name).write_bytes(text.encode())
    assert list(corpora.vocab_sample(str(tmp_path), [Corpus(("u",), ("a", "b"))])) == [
        "x",
        "",
        "y",
        "ä",
    ]
