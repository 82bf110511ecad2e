"""The graph gives what the Python encoder gives, also from a SavedModel in a bare process."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf

from keras_transformer.errors import UserError
from keras_transformer.text.graph_encoder import SubwordGraphEncoder
from keras_transformer.text.subword_encoder import SubwordTextEncoder

GOLDEN = Path(__file__).parents[2] / "golden" / "text_encoders"
VOCABULARIES = sorted(path.name for path in GOLDEN.glob("*.subwords"))
NASTY = (
    "ab é_\\u;09\n\r\x00\x0b\x85\u2028\u3000\u0301½\u0378\ufeff\uffff漢\U0001f600\U0010ffff<pad>"
)


def _encode(graph: SubwordGraphEncoder, texts: list[str]) -> list[list[int]]:
    return graph.encode(tf.constant([text.encode() for text in texts], tf.string)).to_list()


def _decode(graph: SubwordGraphEncoder, ids: list[list[int]], cut_at_eos: bool) -> list[str]:
    padded = tf.ragged.constant(ids, tf.int32, ragged_rank=1).to_tensor(default_value=-1)
    return [text.decode() for text in graph.decode(padded, cut_at_eos).numpy()]


def _as_utf8(text: str) -> str:
    """What can be written of a text: U+FFFD for halves of surrogate pairs."""
    return "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


@pytest.fixture
def run_eagerly() -> Iterator[None]:
    """Spares the time to trace each vocabulary's graph; the operations are the same."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.mark.usefixtures("run_eagerly")
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_every_recorded_text(vocabulary: str) -> None:
    golden = json.loads((GOLDEN / f"{vocabulary}.cases.json").read_text())
    graph = SubwordGraphEncoder(SubwordTextEncoder.load(GOLDEN / vocabulary))
    texts = [case["text"] for case in golden["cases"]]
    ids = [case["ids"] for case in golden["cases"]]
    assert _encode(graph, texts) == ids
    assert _decode(graph, ids, cut_at_eos=True) == texts
    random_ids = [case["ids"] for case in golden["decode_only"]]
    decoded = [case["decoded"] for case in golden["decode_only"]]
    assert _decode(graph, random_ids, cut_at_eos=False) == decoded


@pytest.fixture(scope="module")
def encoder() -> SubwordTextEncoder:
    return SubwordTextEncoder.load(GOLDEN / "vocab.ende.tts.350.subwords")


@pytest.fixture(scope="module")
def graph(encoder: SubwordTextEncoder) -> SubwordGraphEncoder:
    return SubwordGraphEncoder(encoder)


def test_random_texts(encoder: SubwordTextEncoder, graph: SubwordGraphEncoder) -> None:
    rng = random.Random(3)
    texts = ["".join(rng.choices(NASTY, k=rng.randint(0, 30))) for _ in range(2000)]
    texts += ["", "漢" * 200, "\\" * 101, "x" * 1000, "_" * 50, "Versicherungsgesellschaft" * 20]
    ids = [encoder.encode(text) for text in texts]
    assert _encode(graph, texts) == ids
    assert _decode(graph, ids, cut_at_eos=True) == texts


def test_all_characters(encoder: SubwordTextEncoder, graph: SubwordGraphEncoder) -> None:
    characters = [chr(c) for c in [*range(0xD800), *range(0xE000, 0x110000)]]
    texts = ["".join(characters[i : i + 500]) for i in range(0, len(characters), 30_011)]
    ids = [encoder.encode(text) for text in texts]
    assert _encode(graph, texts) == ids
    assert _decode(graph, ids, cut_at_eos=True) == texts


def test_random_ids(encoder: SubwordTextEncoder, graph: SubwordGraphEncoder) -> None:
    rng = random.Random(4)
    escape_ids = [encoder.id_of_subtoken[c] for c in "\\\\\\\\u;01_23456789"]
    ids = [[rng.randint(-2, encoder.vocab_size + 2) for _ in range(15)] for _ in range(500)]
    ids += [[rng.choice(escape_ids) for _ in range(20)] for _ in range(3000)]
    assert _decode(graph, ids, cut_at_eos=False) == [_as_utf8(encoder.decode(row)) for row in ids]


@pytest.mark.parametrize(
    "escaped",
    [r"\0000000065;a", "\\" + "9" * 400 + ";", r"\1114111;\1114112;", r"\55296;", r"\\65;\\\66;"],
)
def test_escapes_no_encoder_wrote(
    encoder: SubwordTextEncoder, graph: SubwordGraphEncoder, escaped: str
) -> None:
    ids = [encoder.id_of_subtoken[character] for character in escaped]
    assert _decode(graph, [ids], cut_at_eos=False) == [_as_utf8(encoder.decode(ids))]


def test_end_of_sentence_and_padding(
    encoder: SubwordTextEncoder, graph: SubwordGraphEncoder
) -> None:
    apple = encoder.encode("An apple")
    n = len(apple)
    ids = tf.constant(
        [
            [[*apple, 1, *apple], [0, *apple, 1, *[0] * (n - 1)]],
            [[1, *apple, *apple], [*apple, 0, *apple]],
        ],
        tf.int32,
    )
    texts = graph.decode(ids)
    assert texts.shape == (2, 2)
    assert texts.numpy().tolist() == [[b"An apple", b"An apple"], [b"", b"An apple An apple"]]
    shown = graph.decode(ids[0], cut_at_eos=False).numpy()[0].decode()
    assert shown == "An apple<EOS>An apple"


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0), (2, 0, 3)])
def test_nothing_to_decode(graph: SubwordGraphEncoder, shape: tuple[int, ...]) -> None:
    texts = graph.decode(tf.zeros(shape, tf.int32))
    assert texts.shape == shape[:-1]
    assert set(texts.numpy().ravel().tolist()) <= {b""}


def test_nothing_to_encode(graph: SubwordGraphEncoder) -> None:
    assert graph.encode(tf.constant([], tf.string)).shape == (0, None)
    assert _encode(graph, ["", ""]) == [[], []]


def test_bytes_that_are_not_utf8_read_as_the_replacement_character(
    encoder: SubwordTextEncoder, graph: SubwordGraphEncoder
) -> None:
    ids = graph.encode(tf.constant([b"a\xffb"])).to_list()
    assert ids == [encoder.encode("a\ufffdb")]


@pytest.mark.slow
@pytest.mark.usefixtures("run_eagerly")
def test_random_vocabularies(tmp_path: Path) -> None:
    """Duplicates, empty entries, entries across tokens, and characters without an entry."""
    for case in json.loads((GOLDEN / "random_vocabularies.json").read_text()):
        path = tmp_path / "vocab"
        path.write_bytes(case["file"].encode())
        encoder = SubwordTextEncoder.load(path)
        graph = SubwordGraphEncoder(encoder)
        can = [(text, ids) for text, ids in case["encode"] if ids is not None]
        assert _encode(graph, [text for text, _ in can]) == [ids for _, ids in can]
        for text in [text for text, ids in case["encode"] if ids is None][:1]:
            with pytest.raises(UserError):
                encoder.encode(text)
            with pytest.raises(tf.errors.InvalidArgumentError, match="cannot encode"):
                graph.encode(tf.constant([text.encode()]))
        ids = [row for row, _ in case["decode"]]
        wanted = [_as_utf8(text) for _, text in case["decode"]]
        assert _decode(graph, ids, cut_at_eos=False) == wanted


class _RoundTrip(tf.Module):
    def __init__(self, graph: SubwordGraphEncoder) -> None:
        super().__init__()
        self.graph = graph

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def __call__(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        ids = self.graph.encode(text)
        return {"ids": ids.to_tensor(), "text": self.graph.decode(ids.to_tensor())}


@pytest.mark.slow
def test_saved_model_in_a_process_with_tensorflow_alone(
    tmp_path: Path, encoder: SubwordTextEncoder, graph: SubwordGraphEncoder
) -> None:
    module = _RoundTrip(graph)
    folder = tmp_path / "model"
    tf.saved_model.save(module, str(folder), signatures=module.__call__)
    texts = ["An apple – 漢字_\\u.", "", " <pad> 12,5 %"]
    program = """
import json, sys
import tensorflow as tf
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
out = serve(text=tf.constant([text.encode() for text in json.loads(sys.argv[2])]))
assert not {"keras_transformer", "tensorflow_text"} & set(sys.modules)
print(json.dumps([out["ids"].numpy().tolist(), [t.decode() for t in out["text"].numpy()]]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder), json.dumps(texts)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    ids, back = json.loads(done.stdout.splitlines()[-1])
    assert [[i for i in row if i] for row in ids] == [encoder.encode(text) for text in texts]
    assert back == texts
