"""Finding finished rows, and refusing what cannot be one table."""

from __future__ import annotations

import json

import pytest

from keras_transformer.errors import UserError
from keras_transformer.reproduce.recipes import Request
from keras_transformer.reproduce.results import collect, plan_of, unlike
from keras_transformer.reproduce.row import RESULT_FILE


@pytest.fixture
def write(made_up_result):
    def to(folder, row, table=3, **figures):
        (folder / row).mkdir(parents=True)
        result = made_up_result(Request(table=table, rows=(row,), data_dir="d"), **figures)
        (folder / row / RESULT_FILE).write_text(json.dumps(result))

    return to


def test_rows_come_in_the_order_of_the_table_from_anywhere(write, tmp_path):
    write(tmp_path / "a", "E")
    write(tmp_path / "b", "base")
    write(tmp_path / "b", "A2")
    (tmp_path / "b" / "half_done").mkdir()
    found = collect([tmp_path / "a" / "E", tmp_path / "b"])
    assert [plan_of(result).row for result in found] == ["base", "A2", "E"]


def test_the_same_row_twice(write, tmp_path):
    write(tmp_path / "a", "E")
    write(tmp_path / "copy", "E")
    assert len(collect([tmp_path / "a", tmp_path / "copy"])) == 1
    write(tmp_path / "other", "E", perplexity=4.0)
    with pytest.raises(UserError, match="row E is in .*a/E and in .*other/E with other figures"):
        collect([tmp_path / "a", tmp_path / "other"])


def test_what_is_no_table(write, tmp_path):
    with pytest.raises(UserError, match="there is no such folder"):
        collect([tmp_path / "none"])
    with pytest.raises(UserError, match="no finished row"):
        collect([tmp_path])
    write(tmp_path, "E")
    write(tmp_path, "base_ende", table=2)
    with pytest.raises(UserError, match="rows of tables 2 and 3"):
        collect([tmp_path])


def test_a_damaged_result_is_named(write, tmp_path):
    write(tmp_path, "E")
    path = tmp_path / "E" / RESULT_FILE
    whole = json.loads(path.read_text())
    short = {name: value for name, value in whole.items() if name not in ("bleu", "perplexity")}
    for content, why in (
        (json.dumps(whole)[:100], "Unterminated|Expecting"),
        ("[]", "it is no JSON object"),
        ('{"format": 1}', "it lacks 'plan'"),
        (json.dumps({**whole, "format": 9}), "its format is 9, this release reads 1"),
        (json.dumps({**whole, "plan": {**whole["plan"], "row": "Z"}}), "there is no row 'Z'"),
        (json.dumps(short), "it lacks bleu, perplexity"),
    ):
        path.write_text(content)
        with pytest.raises(UserError, match=f"writes .*({why})") as caught:
            collect([tmp_path])
        assert str(path) in str(caught.value)


def test_settings_that_the_paper_does_not_vary_are_compared(write, tmp_path):
    """C6 has a feed-forward width of its own; another warm-up is none of its business."""
    write(tmp_path, "base")
    write(tmp_path, "C6")
    assert unlike(collect([tmp_path])) == []
    path = tmp_path / "C6" / RESULT_FILE
    result = json.loads(path.read_text())
    result["plan"]["hparams"]["learning_rate_warmup_steps"] = 7
    path.write_text(json.dumps({**result, "precision": "bfloat16"}))
    assert unlike(collect([tmp_path])) == [
        "precision differs: bfloat16 and float32",
        "learning_rate_warmup_steps differs: 4000 in base; 7 in C6",
    ]
