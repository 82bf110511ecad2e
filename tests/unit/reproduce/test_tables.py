"""The page and the JSON of a table."""

from __future__ import annotations

import pytest

from keras_transformer.hparams.table3 import ROWS
from keras_transformer.reproduce.recipes import Request
from keras_transformer.reproduce.tables import aligned, as_json, markdown


def test_columns_line_up_and_numbers_stand_right():
    text = aligned(["row", "PPL", "what"], [["a", "4.92", "x"], ["long", "+12", "yy"]])
    assert text.splitlines() == [
        "| row  |  PPL | what |",
        "| ---- | ---: | ---- |",
        "| a    | 4.92 | x    |",
        "| long |  +12 | yy   |",
    ]


@pytest.fixture
def table3(made_up_result):
    results = []
    for row in ROWS:
        request = Request(table=3, rows=(row,), data_dir="d", steps=100_000)
        results.append(made_up_result(request, perplexity=5.5 if row == "A1" else 5.0))
    return results


def test_table_3_stands_beside_the_paper_on_100_columns(table3):
    page = markdown(table3)
    assert max(map(len, page.splitlines())) <= 100
    lines = [" ".join(line.split()) for line in page.splitlines()]
    assert "| base | | 100,000 | 5.00 | 4.92 | 12.50 | 25.8 | 25.8 | 25.0 |" in lines
    assert "| E | learned positions | 100,000 | 5.00 | 4.92 | 12.50 | 25.8 | 25.7 | 25.0 |" in lines
    # ln(5.5 / 5.0), and the paper's ln(5.29 / 4.92).
    assert "| A1 | h=1 | +0.095 | +0.073 | +0.0 | -0.9 |" in lines
    assert "| base | 63,062,016 | 65M | 25,000 | 0.4 | 1.00e13 | 2.50e13 | 1.00e18 |" in lines
    assert len([line for line in lines if line.startswith("| C5 ")]) == 3


def test_a_deviation_of_all_rows_is_said_once_and_one_of_a_row_with_its_name(table3):
    page = markdown(table3)
    # Three hundred thousand are the paper's steps of the big row.
    assert page.count("- big: 100,000 updates for the paper's 300,000") == 1
    assert page.count("data: `translate_ende_wmt32k`") == 1
    assert "Rows that are not alike" not in page


def test_rows_that_do_not_compare_are_named(table3):
    table3[1]["plan"]["steps"] = 50_000
    table3[2]["vocabularies"] = {"inputs": {"file": "vocab", "sha256": "b"}}
    page = markdown(table3[:3])
    assert "## Rows that are not alike" in page
    assert "- steps differs: 100000 in base, A2; 50000 in A1" in page
    assert "different vocabularies" in page
    assert as_json(table3[:3])["unlike"]


def test_a_run_without_reports_has_empty_cells(made_up_result):
    none = dict.fromkeys(
        ("seconds_per_step", "source_tokens_per_update", "target_tokens_per_update")
    )
    request = Request(table=3, rows=("base",), data_dir="d", steps=1)
    result = made_up_result(request, **none)
    for name in ("flops_per_step", "flops_per_second", "training_flops", "training_seconds"):
        del result[name]
    lines = [" ".join(line.split()) for line in markdown([result]).splitlines()]
    assert "| base | 63,062,016 | 65M | | | | | |" in lines


def test_table_2_has_flops_by_the_papers_method(made_up_result):
    def request(**options):
        return Request(table=2, rows=("base_ende",), data_dir="d", **options)

    # 0.4 s for each of 100,000 updates are eleven hours; the paper says twelve.
    result = made_up_result(request(sustained_tflops=9.5), training_seconds=12 * 3600.0)
    page = markdown([result])
    lines = [" ".join(line.split()) for line in page.splitlines()]
    row = "| base_ende | 100,000 | 5 | 25.8 | 27.3 | 25.0 | 5.00 | 3.28e18 | 3.30e18 |"
    assert row in lines
    assert as_json([result])["rows"]["base_ende"]["flops_by_the_papers_method"] == pytest.approx(
        3.2832e18
    )
    assert "--sustained_tflops" in markdown([made_up_result(request())])


def test_table_4_has_f1_and_what_evalb_left_out(made_up_result):
    page = markdown([made_up_result(Request(table=4, data_dir="d"))])
    lines = [" ".join(line.split()) for line in page.splitlines()]
    assert "| wsj | WSJ only | 100,000 | 91.0 | 91.3 | 90.0 | 92.0 | 1 of 2416 |" in lines
    assert "does not print how many it made" in page
