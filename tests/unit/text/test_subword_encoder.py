"""Ids, texts and vocabulary files as Tensor2Tensor has them."""

from __future__ import annotations

import hashlib
import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.text import subword_encoder
from keras_transformer.text.subword_encoder import SubwordTextEncoder

GOLDEN = Path(__file__).parents[2] / "golden" / "text_encoders"
VOCABULARIES = sorted(path.name for path in GOLDEN.glob("*.subwords"))


def _cases(vocabulary: str) -> dict[str, Any]:
    return json.loads((GOLDEN / f"{vocabulary}.cases.json").read_text())


def _write(path: Path, *lines: str) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_recorded_text(vocabulary: str) -> None:
    golden = _cases(vocabulary)
    encoder = SubwordTextEncoder.load(GOLDEN / vocabulary)
    assert list(encoder.subtokens) == golden["subtokens"]
    assert "".join(sorted(encoder.alphabet)) == golden["alphabet"]
    for case in golden["cases"]:
        assert encoder.encode(case["text"]) == case["ids"]
        assert encoder.encode(case["text"]) == case["ids"]  # the second time from the cache
        assert encoder.decode(case["ids"]) == case["decoded"] == case["text"]
        assert encoder.decode_list(case["ids"]) == case["decode_list"]
        if "ids_without_tokenizing" in case:
            untokenized = encoder.encode_without_tokenizing(case["text"])
            assert untokenized == case["ids_without_tokenizing"]
    for case in golden["decode_only"]:
        assert encoder.decode(case["ids"]) == case["decoded"]
        stripped = encoder.decode(case["ids"], strip_extraneous=True)
        assert stripped == case["decoded_strip_extraneous"]
        assert encoder.decode_list(case["ids"]) == case["decode_list"]


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_recorded_text_with_the_file_without_quotes(vocabulary: str) -> None:
    encoder = SubwordTextEncoder.load(GOLDEN / f"{vocabulary}.noquotes")
    for case in _cases(vocabulary)["cases"]:
        wanted = case.get("ids_from_noquotes_file", case["ids"])
        if wanted == "error":
            with pytest.raises(UserError, match="is no entry of its own"):
                encoder.encode(case["text"])
        else:
            assert encoder.encode(case["text"]) == wanted


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_saving_gives_the_file_back(tmp_path: Path, vocabulary: str) -> None:
    encoder = SubwordTextEncoder.load(GOLDEN / vocabulary)
    encoder.save(tmp_path / "vocab")
    stored = (tmp_path / "vocab").read_bytes()
    assert stored == (GOLDEN / vocabulary).read_bytes()
    assert encoder.sha256() == hashlib.sha256(stored).hexdigest()


def test_random_vocabularies(tmp_path: Path) -> None:
    for case in json.loads((GOLDEN / "random_vocabularies.json").read_text()):
        path = tmp_path / "vocab"
        path.write_bytes(case["file"].encode())
        encoder = SubwordTextEncoder.load(path)
        assert list(encoder.subtokens) == case["subtokens"]
        for text, ids in case["encode"]:
            if ids is None:
                with pytest.raises(UserError, match=r"U\+[0-9A-F]{4,}.* is no entry of its own"):
                    encoder.encode(text)
            else:
                assert encoder.encode(text) == ids
        for ids, text in case["decode"]:
            assert encoder.decode(ids) == text


def test_random_texts_come_back() -> None:
    encoder = SubwordTextEncoder.load(GOLDEN / "vocab.ende.tts.350.subwords")
    rng = random.Random(5)
    nasty = "ab é_\\u;09\n\r\x00\x0b\x85\u2028\u3000\u0378漢\U0001f600\U0010ffff<pad>'\""
    for _ in range(2000):
        text = "".join(rng.choice(nasty) for _ in range(rng.randint(0, 25)))
        ids = encoder.encode(text)
        assert encoder.decode(ids) == text
        assert min(ids, default=2) >= 2


def test_quotes(tmp_path: Path) -> None:
    lines = {
        "'<pad>_'": "<pad>_",
        "'<EOS>_'": "<EOS>_",
        "'''": "'",
        "''_'": "'_",
        "' a '": " a ",
        '"b"': "b",
        "'c' \t": "c",
        "d\u3000": "d",
        "'": "",
        "''": "",
        "\"e'": "\"e'",
        "'\u2028\x85'": "\u2028\x85",
        "'f\r'": "f",
        "": "",
    }
    encoder = SubwordTextEncoder.load(_write(tmp_path / "vocab", *lines))
    assert list(encoder.subtokens) == list(lines.values())


def test_the_later_of_equal_entries_is_used_and_the_empty_one_never(tmp_path: Path) -> None:
    path = _write(tmp_path / "vocab", "'<pad>_'", "'<EOS>_'", "'a_'", "''", "'b_'", "'a_'")
    encoder = SubwordTextEncoder.load(path)
    assert encoder.vocab_size == 6
    assert encoder.encode("a, b".replace(", ", " ")) == [5, 4]
    assert encoder.decode([2, 3, 4, 5]) == "a b a"
    encoder.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_character_without_an_entry_is_named_when_it_is_needed(tmp_path: Path) -> None:
    path = _write(tmp_path / "vocab", "'<pad>_'", "'<EOS>_'", "'qu_'", "'_'")
    encoder = SubwordTextEncoder.load(path)
    assert encoder.encode("qu") == [2]
    with pytest.raises(UserError, match=r"cannot encode 'q': the character 'q' \(U\+0071\)"):
        encoder.encode("qu q")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a\nb", r"the subtoken 'a\\nb' \(id 2\) holds a line end"),
        ("a\rb", r"the subtoken 'a\\rb' \(id 2\) holds a line end"),
        ("\ud800", r"line 3: the record .* U\+D800"),
    ],
)
def test_an_entry_that_would_not_read_back_is_refused(
    tmp_path: Path, entry: str, message: str
) -> None:
    encoder = SubwordTextEncoder(["<pad>_", "<EOS>_", entry])
    with pytest.raises(UserError, match=message):
        encoder.save(tmp_path / "vocab")
    assert not list(tmp_path.iterdir())


def test_missing_and_empty_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        SubwordTextEncoder.load(tmp_path / "vocab")
    (tmp_path / "vocab").touch()
    with pytest.raises(UserError, match=r"vocab is empty"):
        SubwordTextEncoder.load(tmp_path / "vocab")


def test_decoding_takes_numpy_ids() -> None:
    encoder = SubwordTextEncoder.load(GOLDEN / "vocab.ende.tts.350.subwords")
    ids = np.array([*encoder.encode("An apple."), 1, 0, 0], np.int32)
    assert encoder.decode(ids) == "An apple.<EOS><pad><pad>"
    assert encoder.decode(ids, strip_extraneous=True) == "An apple."


def test_pickling_keeps_the_vocabulary_and_leaves_the_cache_behind() -> None:
    encoder = SubwordTextEncoder.load(GOLDEN / "vocab.ende.tts.350.subwords")
    small = len(pickle.dumps(encoder))
    ids = encoder.encode("Words " * 3 + " ".join(f"word{i}" for i in range(500)))
    assert len(pickle.dumps(encoder)) == small
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy.subtokens == encoder.subtokens
    assert copy.decode(ids) == encoder.decode(ids)


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subword_encoder, "_CACHED_TOKENS", 10)
    encoder = SubwordTextEncoder.load(GOLDEN / "vocab.ende.tts.350.subwords")
    words = [f"w{i}" for i in range(95)] + ["x" * 101]
    wanted = [encoder.encode_token(word) for word in words]
    for word, ids in zip(words, wanted, strict=True):
        assert encoder.encode(word) == ids
        assert len(encoder._ids_by_token) <= 10
    assert "x" * 101 not in encoder._ids_by_token
