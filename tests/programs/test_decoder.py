"""kt-decoder on a run directory that Tensor2Tensor wrote, against what t2t-decoder wrote."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from keras_transformer import registry
from keras_transformer.cli.decoder import main
from tests.programs.t2t_run import DATA, GOLDEN, INPUT, RUN, VOCABULARY, decode

pytestmark = pytest.mark.usefixtures("each_model_once")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], "decode_beam4_alpha06.txt"),
        (["--beam_size=1"], "decode_greedy.txt"),
        (
            ["--decode_hparams=beam_size=4,alpha=0.6,return_beams=True,write_beam_scores=True"],
            "decode_beam4_return_beams.txt",
        ),
    ],
)
def test_same_file_as_t2t_decoder(tmp_path, flags, expected):
    target = tmp_path / "out"
    decode(
        f"--decode_from_file={INPUT}", f"--decode_to_file={target}", "--length_limit=batch", *flags
    )
    assert target.read_text() == (RUN / expected).read_text()
    assert os.listdir(tmp_path) == ["out"]


def feed(monkeypatch, text: str) -> None:
    stream = SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stream)


def test_standard_input_to_standard_output(monkeypatch, capsys):
    feed(monkeypatch, INPUT.read_text())
    decode()
    assert capsys.readouterr().out == (RUN / "decode_beam4_alpha06.txt").read_text()


def test_json_lines_with_n_best(monkeypatch, capsys):
    lines = INPUT.read_text().splitlines()[:2]
    feed(monkeypatch, "\n".join(lines) + "\n")
    decode("--json", "--n_best=3", "--batch_size=1")
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = (RUN / "decode_beam4_return_beams.txt").read_text().splitlines()
    for number, (answer, source, beams) in enumerate(
        zip(answers, lines, expected, strict=False), start=1
    ):
        columns = beams.split("\t")
        assert (answer["line"], answer["source"], answer["text"]) == (number, source, columns[0])
        assert [h["text"] for h in answer["n_best"]] == columns[0:6:2]
        assert [f"{h['score']:.2f}" for h in answer["n_best"]] == columns[1:6:2]
        best = answer["n_best"][0]
        penalty = ((5 + best["length"]) / 6) ** 0.6
        assert best["log_probability"] == pytest.approx(best["score"] * penalty, abs=1e-4)


def test_ids_instead_of_text(monkeypatch, capsys):
    feed(monkeypatch, INPUT.read_text().splitlines()[0] + "\n")
    decode("--decode_hparams=identity_output=True")
    ids = [int(part) for part in capsys.readouterr().out.split()]
    assert len(ids) > 3 and min(ids) > 1


def test_scores_of_given_outputs(tmp_path, capsys):
    sources = INPUT.read_text().splitlines()[:3]
    outputs = (RUN / "decode_beam4_alpha06.txt").read_text().splitlines()[:3]
    pairs = tmp_path / "pairs"
    pairs.write_text("".join(f"{s}\t{t}\n" for s, t in zip(sources, outputs, strict=True)))
    decode(f"--score_file={pairs}")
    losses = [float(line) for line in capsys.readouterr().out.splitlines()]
    scores = [
        float(line.split("\t")[1])
        for line in (RUN / "decode_beam4_return_beams.txt").read_text().splitlines()[:3]
    ]
    from keras_transformer.text.subword_encoder import SubwordTextEncoder

    encoder = SubwordTextEncoder.load(VOCABULARY)
    for loss, score, text in zip(losses, scores, outputs, strict=True):
        length = len(encoder.encode(text)) + 1
        # The score is two decimals of the log-probability over the length penalty.
        assert loss * length == pytest.approx(-score * ((5 + length) / 6) ** 0.6, abs=0.02)


def test_ensemble_of_one_model_twice_is_that_model(tmp_path):
    checkpoint = RUN / "model.ckpt-250"
    target = tmp_path / "out"
    decode(
        f"--checkpoint_path={checkpoint},{checkpoint}",
        f"--decode_from_file={INPUT}",
        f"--decode_to_file={target}",
        "--length_limit=batch",
    )
    assert target.read_text() == (RUN / "decode_beam4_alpha06.txt").read_text()


def test_names_of_outputs_and_shards(tmp_path, capsys):
    lines = INPUT.read_text().splitlines(keepends=True)
    for name, part in (("in001", lines[:2]), ("in-00001-of-00002", lines[2:4])):
        (tmp_path / name).write_text("".join(part))
    decode(f"--decode_from_file={tmp_path}/in", "--decode_hparams=shards=2,shard_id=1,beam_size=1")
    decode(
        f"--decode_from_file={tmp_path}/in",
        "--decode_hparams=shards=2,shard_id=0,shards_start_offset=1,shard_google_format=True",
    )
    suffix = ".transformer.own.text2text"
    assert sorted(set(os.listdir(tmp_path)) - {"in001", "in-00001-of-00002"}) == [
        f"in{suffix}.beam1.alpha0.6.decodes001",
        f"in{suffix}.beam4.alpha0.6.decodes-00001-of-00002",
    ]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A user's folder, imported once."""
    package = tmp_path_factory.mktemp("user") / "oracle_toy"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from keras_transformer import Text2TextProblem, register_problem\n"
        "@register_problem\n"
        "class OracleToyEnde(Text2TextProblem):\n"
        "    approx_vocab_size = 256\n"
    )
    yield package
    # Another file of tests registers a problem of this name.
    registry._problems.pop("oracle_toy_ende", None)


@pytest.fixture
def own_run(tmp_path, package):
    """The same run with its problem: a data set can be decoded."""
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    return [
        f"--output_dir={run}",
        f"--usr_dir={package}",
        "--problem=oracle_toy_ende",
        f"--data_dir={DATA}",
    ]


def test_the_test_set_instead_of_the_dev_set(own_run, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(DATA, data)
    (data / "oracle_toy_ende-train-00000-of-00004").rename(
        data / "oracle_toy_ende-test-00000-of-00001"
    )
    flags = ["--decode_hparams=num_samples=4,beam_size=1", "--extra_length=3"]
    assert main([*own_run[:-1], f"--data_dir={data}", "--eval_use_test_set", *flags]) == 0
    base = tmp_path / "run" / "test.transformer.own.oracle_toy_ende.beam1.alpha0.6"
    pairs = json.loads((GOLDEN / "data_pipeline" / "source_pairs.json").read_text())
    inputs = Path(f"{base}.inputs").read_text().splitlines()
    assert len(inputs) == 4 and set(inputs) <= {pair[0] for pair in pairs["train"]}
    assert Path(f"{base}.decodes").read_text().count("\n") == 4


def test_a_data_set_and_the_sweep(own_run, tmp_path, capsys):
    assert main([*own_run, "--decode_hparams=num_samples=6,beam_size=2", "--extra_length=5"]) == 0
    base = tmp_path / "run" / "dev.transformer.own.oracle_toy_ende.beam2.alpha0.6"
    texts = {end: Path(f"{base}.{end}").read_text() for end in ("decodes", "inputs", "targets")}
    assert all(text.count("\n") == 6 for text in texts.values())
    pairs = json.loads((GOLDEN / "data_pipeline" / "source_pairs.json").read_text())
    known = {(pair[0], pair[1]) for split in pairs.values() for pair in split}
    written = zip(texts["inputs"].splitlines(), texts["targets"].splitlines(), strict=True)
    assert set(written) <= known
    capsys.readouterr()

    sweep = [
        f"--decode_from_file={base}.inputs",
        f"--reference={base}.targets",
        "--sweep_alpha=0,0.6,2",
        "--sweep_beam_size=1,2",
        "--extra_length=5",
    ]
    assert main([*own_run, *sweep]) == 0
    head, greedy, beam, signature = capsys.readouterr().out.splitlines()
    assert head.split() == ["beam", "\\", "alpha", "0", "0.6", "2"]
    assert greedy.split()[0] == "1" and len(set(greedy.replace("*", "").split()[1:])) == 1
    assert beam.split()[0] == "2"
    assert "nrefs:1" in signature
    from keras_transformer.scoring import bleu

    expected = bleu.score_files(f"{base}.decodes", f"{base}.targets", ["sacrebleu"])[0].score
    assert float(beam.split()[2].rstrip("*")) == pytest.approx(expected, abs=0.005)


def test_interactive(monkeypatch, capsys):
    feed(monkeypatch, "ns=2\nZoë describes the child.\nns=x\nq\n")
    decode("--decode_interactive")
    out = capsys.readouterr().out
    assert "ns=2 dl=50" in out and "'ns=x': give a whole number" in out
    columns = (RUN / "decode_beam4_return_beams.txt").read_text().splitlines()[1].split("\t")
    answers = re.findall(r"(-\d+\.\d{4})  (.*)", out)
    assert [text for _, text in answers] == columns[0:4:2]
    for (score, _), expected in zip(answers, columns[1:4:2], strict=True):
        assert float(score) == pytest.approx(float(expected), abs=0.006)
