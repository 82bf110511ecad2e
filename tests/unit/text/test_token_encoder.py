"""Ids of words as Tensor2Tensor has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformer.errors import UserError
from keras_transformer.text.token_encoder import TokenTextEncoder

FOLDER = Path(__file__).parents[2] / "golden" / "text_encoders"
GOLDEN = json.loads((FOLDER / "token_text_encoder.json").read_text())


def _encoder(variant: dict) -> TokenTextEncoder:
    return TokenTextEncoder.load(
        FOLDER / variant["vocab_file"], variant["replace_oov"], variant["reverse"]
    )


@pytest.mark.parametrize("name", GOLDEN)
def test_every_recorded_text(name: str) -> None:
    variant = GOLDEN[name]
    encoder = _encoder(variant)
    assert encoder.vocab_size == variant["vocab_size"]
    for case in variant["cases"]:
        if "error" in case:
            with pytest.raises(UserError, match="is not in .*vocab"):
                encoder.encode(case["text"])
        else:
            assert encoder.encode(case["text"]) == case["ids"]
            assert encoder.decode(case["ids"]) == case["decoded"]
            assert encoder.decode_list(case["ids"]) == case["decode_list"]
    for case in variant["decode_only"]:
        assert encoder.decode(case["ids"]) == case["decoded"]
        stripped = encoder.decode(case["ids"], strip_extraneous=True)
        assert stripped == case["decoded_strip_extraneous"]


@pytest.mark.parametrize("name", GOLDEN)
def test_saving_gives_the_file_back(tmp_path: Path, name: str) -> None:
    variant = GOLDEN[name]
    _encoder(variant).save(tmp_path / "vocab")
    assert (tmp_path / "vocab").read_bytes() == (FOLDER / variant["vocab_file"]).read_bytes()


def test_a_list_gets_the_reserved_tokens_in_front() -> None:
    encoder = TokenTextEncoder.from_list(["b", "<EOS>", "a", "b"])
    assert encoder.tokens == ("<pad>", "<EOS>", "b", "a", "b")
    assert encoder.encode(" a  b\u3000a ") == [3, 4, 3]  # of equal entries the last counts


def test_a_replacement_that_is_no_entry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="replace_oov is 'UNK', which is not in"):
        TokenTextEncoder.from_list(["a"], replace_oov="UNK")
    (tmp_path / "vocab").write_text("<pad>\n<EOS>\na\n")
    with pytest.raises(UserError, match="'UNK', which is not in .*/vocab: add it"):
        TokenTextEncoder.load(tmp_path / "vocab", replace_oov="UNK")


def test_a_file_without_the_reserved_tokens_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab").write_text("the\na\n")
    with pytest.raises(UserError, match=r"starts with \['the', 'a'\]: the first two lines"):
        TokenTextEncoder.load(tmp_path / "vocab")


@pytest.mark.parametrize("token", [" a", "a\u3000", "a\nb", "a\rb"])
def test_an_entry_that_would_not_read_back_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(UserError, match="would not read back"):
        TokenTextEncoder.from_list([token]).save(tmp_path / "vocab")
    assert not list(tmp_path.iterdir())
