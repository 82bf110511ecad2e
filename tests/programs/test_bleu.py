"""`kt-bleu` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformer.cli.bleu import main

GOLDEN = Path(__file__).parents[1] / "golden" / "moses"
FILES = [
    f"--translation={GOLDEN / 'libreoffice.hyp.de'}",
    f"--reference={GOLDEN / 'libreoffice.ref.de'}",
]


def test_json_holds_one_object_a_measure(capsys):
    assert main([*FILES, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert list(output) == ["paper", "t2t_cased", "t2t_uncased", "sacrebleu"]
    assert round(output["paper"]["score"], 2) == 61.96
    for measure in output.values():
        assert measure["signature"]
        assert 50 < measure["score"] < 70


def test_table_is_narrow_and_complete(capsys):
    assert main([*FILES, "--measure=paper,chrf,sacrebleu", "--moses_form=today"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) < 100
    assert lines[1].split() == (
        ["paper", "61.96", "92.7/71.7/59.9/50.3", "0.926", "5242", "words", "5646", "words"]
    )
    assert "tok:moses-today" in lines[6]


def test_variants_of_t2t(capsys):
    assert main([*FILES, "--bleu_variant=both", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["t2t_uncased", "t2t_cased"]


def test_other_target_language(capsys):
    assert main([*FILES, "--target_language=fr", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert "lang:fr" in output["moses"]["signature"]
    assert "paper" not in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--translation is missing"),
        (FILES[:1], "--reference is missing"),
        ([*FILES, "--measure=meteor"], "'meteor' is unknown"),
        ([*FILES, "--measure=paper", "--bleu_variant=both"], "give one"),
        ([*FILES, "--target_language=xx"], "no rules for the language 'xx'"),
        ([FILES[0], "--reference=/nowhere/at/all"], "/nowhere/at/all: no such file"),
    ],
)
def test_mistakes_end_with_status_2_and_a_message(capsys, arguments, message):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_files_of_different_length(capsys, tmp_path):
    (tmp_path / "hyp").write_text("a\nb\n")
    (tmp_path / "ref").write_text("a\nb\nc\n")
    assert main([f"--translation={tmp_path / 'hyp'}", f"--reference={tmp_path / 'ref'}"]) == 2
    assert "the translation has 2 lines, the reference 3" in capsys.readouterr().err


def test_a_folder_of_translations_gives_a_line_for_each_step(capsys, tmp_path):
    reference = tmp_path / "reference"
    reference.write_text("a b c d e\n")
    folder = tmp_path / "translations"
    folder.mkdir()
    (folder / "ende-200").write_text("a b c d e\n")
    (folder / "ende-1000").write_text("a b c d x\n")
    plot = tmp_path / "curve.png"
    arguments = [f"--translations_dir={folder}", f"--reference={reference}"]
    assert main([*arguments, "--measure=t2t_cased", f"--plot={plot}"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[1].split() == ["200", "100.00*"]
    assert lines[2].split()[0] == "1000"
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert main([*arguments, "--measure=t2t_cased", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["steps"]
    assert [row["step"] for row in rows] == [200, 1000]
    assert rows[0]["t2t_cased"]["score"] == pytest.approx(100.0)


def test_a_file_and_a_folder_are_not_both_scored(capsys):
    assert main(["--translation=a", "--translations_dir=b", "--reference=c"]) == 2
    assert "give one" in capsys.readouterr().err
