"""`kt-evalb` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformer.cli.evalb import main

GOLDEN = Path(__file__).parents[1] / "golden" / "evalb"


def files(case: str) -> list[str]:
    return [f"--gold={GOLDEN / case / 'gold.trees'}", f"--test={GOLDEN / case / 'test.trees'}"]


def test_json_has_the_figures_of_evalb(capsys):
    case = "37-random-grammar-with-failures"
    assert main([*files(case), f"--prm={GOLDEN / 'COLLINS.prm'}", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    expected = json.loads((GOLDEN / case / "expected.json").read_text())
    for key in ("parameters", "sentences", "all", "len_le_40", "messages"):
        assert output[key] == expected[key]


def test_text_is_that_of_evalb_and_a_table_by_label(capsys):
    case = "13-crossing"
    assert main(files(case)) == 0
    output = capsys.readouterr().out
    printed, labels = output.split("\n-- Labels --\n")
    assert printed == (GOLDEN / case / "evalb.out").read_text()
    assert labels.splitlines()[1].split()[0] == "NP"


def test_without_the_lines_of_sentences(capsys):
    assert main([*files("13-crossing"), "--nosentences", "--cutoff_len=10"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("=== Summary ===")
    assert "-- len<=10 --" in output


def test_messages_go_to_standard_error_and_it_goes_on_where_evalb_stops(capsys):
    assert main([*files("33-twelve-errors"), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["all"]["sentences"] == 14
    assert captured.err.count("unmatch") == 12
    assert "EVALB would have stopped at line 13" in captured.err
    assert main([*files("33-twelve-errors"), "--max_error=100"]) == 0
    assert "would have stopped" not in capsys.readouterr().err


def test_no_skip_lowers_the_recall(capsys):
    case = files("37-random-grammar-with-failures")
    assert main([*case, "--json"]) == 0
    skipping = json.loads(capsys.readouterr().out)
    assert main([*case, "--json", "--no_skip"]) == 0
    strict = json.loads(capsys.readouterr().out)
    assert strict["all"]["valid"] == skipping["all"]["sentences"] > skipping["all"]["valid"]
    assert strict["all"]["recall"] < skipping["all"]["recall"]
    assert (strict["skipping"], skipping["skipping"]) == (False, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--gold is missing"),
        (files("13-crossing")[:1], "--test is missing"),
        ([*files("13-crossing"), "--prm=none.prm"], "none.prm: no such parameter file"),
        ([files("13-crossing")[0], "--test=/nowhere"], "/nowhere cannot be read"),
    ],
)
def test_mistakes_end_with_status_2_and_a_message(capsys, arguments, message):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
