"""kt-attention, run as a user runs it, on run directories of both kinds and on a parsing model."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from keras_transformer.cli import import_t2t
from keras_transformer.cli.attention import main

MODELS = Path(__file__).parents[1] / "golden" / "models"
BASE = MODELS / "base_v1"
PARSING = MODELS / "parsing_base"
T2T_RUN = [
    f"--output_dir={BASE}",
    f"--vocab_file={BASE / 'vocab.shared.subwords'}",
    "--target_space_id=0",
]
SEARCH = ["--beam_size=1", "--extra_length=5"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def data_of(path: str) -> dict:
    text = Path(path).read_text(encoding="utf-8")
    return json.loads(re.search(r'type="application/json">(.*?)</script>', text, re.DOTALL)[1])


def names_of(axis: dict) -> list[str]:
    return [text for text, _, _ in axis["words"]]


@pytest.mark.slow
def test_a_t2t_run_decodes_and_draws(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main([*T2T_RUN, *SEARCH, "--source=a red house"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1:] == ["attention.html", "attention.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attention.html", "attention.png"]
    data = data_of("attention.html")
    assert (data["sourceText"], data["targetText"]) == ("a red house", said[0])
    assert data["isGiven"] is False and data["model"].endswith("model.ckpt-220")
    assert names_of(data["axes"]["cross"][1]) == ["a", "red", "house", "<EOS>"]
    assert {kind: len(layers) for kind, layers in data["weights"].items()} == {
        "encoder": 2,
        "cross": 2,
        "decoder": 2,
    }


@pytest.mark.slow
def test_our_own_run_with_a_given_target(tmp_path):
    run = tmp_path / "run"
    t2t = [flag.replace("--output_dir", "--t2t_model_dir") for flag in T2T_RUN]
    assert import_t2t.main([*t2t, f"--output_dir={run}", "--noparity"]) == 0
    before = sorted(run.iterdir())
    given = ["--source=a red house", "--target=a small house"]
    assert main([f"--output_dir={run}", *given, "--png=", "--html=ours.html"]) == 0
    assert main([*T2T_RUN, *given, "--png=", "--html=t2t.html"]) == 0
    ours, theirs = data_of("ours.html"), data_of("t2t.html")
    assert ours["isGiven"] and ours["targetText"] == "a small house"
    assert names_of(ours["axes"]["cross"][0]) == ["a", "small", "house", "<EOS>"]
    assert ours["weights"] == theirs["weights"]
    assert sorted(run.iterdir()) == before


@pytest.mark.slow
def test_a_parsing_model(capsys):
    flags = [
        f"--output_dir={PARSING}",
        "--problem=wsj_parsing",
        f"--source_vocab_file={PARSING / 'vocab.inputs.subwords'}",
        f"--target_vocab_file={PARSING / 'vocab.targets.subwords'}",
        "--target_space_id=16",
    ]
    given = ["--source=The house (old) .", "--target=S NP DT NN /NP /S"]
    assert main([*flags, *given, "--png="]) == 0
    assert capsys.readouterr().out.splitlines() == ["S NP DT NN /NP /S", "attention.html"]
    data = data_of("attention.html")
    looking, looked_at = data["axes"]["cross"]
    assert names_of(looking) == ["S", "NP", "DT", "NN", "/NP", "/S", "<EOS>"]
    # Brackets are what the model reads them as.
    assert names_of(looked_at) == ["The", "house", "-LRB-old-RRB-", ".", "<EOS>"]
    given[0] = "--source=The house (old)."
    assert main([*flags, *given, "--png=", "--raw_input"]) == 0
    assert names_of(data_of("attention.html")["axes"]["cross"][1]) == [
        *("The", "house", "-LRB-", "old", "-RRB-", ".", "<EOS>")
    ]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--output_dir is not given"),
        (["--output_dir=nowhere", "--source=a"], "there is no such run directory"),
        ([f"--output_dir={BASE}"], "--source is not given or blank"),
        ([f"--output_dir={BASE}", "--source=a", "--target= "], "--target is blank"),
        ([f"--output_dir={BASE}", "--source=a", "--heads=1,x"], "--heads=1,x: give numbers"),
        ([f"--output_dir={BASE}", "--source=\udc80"], "is not UTF-8"),
        ([f"--output_dir={BASE}", "--source=a", "--heads=0"], "give numbers from 1 on"),
        ([f"--output_dir={BASE}", "--source=a", "--html=", "--png="], "nothing to write"),
        ([f"--output_dir={BASE}", "--source=a", "--html=no/page.html"], "there is no folder no"),
        ([f"--output_dir={BASE}", "--source=a", "--png=."], ". is a folder: give a file's name as"),
        ([f"--output_dir={BASE}", "--source=a", "--png=x.xyz"], "ends in no image format"),
    ],
)
def test_mistakes_end_with_one_line(flags, message, tmp_path, capsys):
    assert main(flags) == 2
    error = capsys.readouterr().err
    assert message in error and len(error.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_matplotlib_is_asked_for_before_anything_is_loaded(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main([*T2T_RUN, "--source=a"]) == 2
    assert "leave it out with --png=" in capsys.readouterr().err


def test_nothing_is_written_for_a_layer_that_is_not_there(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main([*T2T_RUN, "--source=a", "--target=a", "--layer=3"]) == 2
    assert "there is no layer 3: this model has 1 to 2" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
