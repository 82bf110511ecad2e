"""Searches that went wrong in other toolkits, as tables of probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformer.decoding.beam_search import beam_search
from tests.unit.decoding.table_model import FunctionModel, table_model

DATA = Path(__file__).parent / "data"


def load(name: str) -> tuple[dict, FunctionModel]:
    case = json.loads((DATA / name).read_text())

    def numbers(row):
        return {int(symbol): probability for symbol, probability in row.items()}

    table = {
        tuple(int(symbol) for symbol in prefix.split()): numbers(row)
        for prefix, row in case["next"].items()
    }
    return case, table_model(case["vocab_size"], [table], numbers(case["otherwise"]))


def best(case: dict, model: FunctionModel, alpha: float, top_beams: int) -> tuple[list[int], float]:
    ids, scores = beam_search(
        model.step, model.start([0]), 1, case["beam_size"], alpha, case["decode_length"], top_beams
    )
    return ids.numpy()[0, 0].tolist(), float(scores.numpy()[0, 0])


@pytest.mark.parametrize("top_beams", [1, 2])
@pytest.mark.parametrize("alpha", ["0.0", "0.6", "1.0"])
def test_a_finished_hypothesis_is_scored_with_its_own_length(alpha, top_beams):
    case, model = load("beam_length_penalty.json")
    expected = case["expected"][alpha]
    ids, score = best(case, model, float(alpha), top_beams)
    assert ids[: len(expected["ids"])] == expected["ids"] and not any(ids[len(expected["ids"]) :])
    assert score == pytest.approx(expected["score"], abs=1e-4)


@pytest.mark.parametrize("top_beams", [1, 2])
def test_the_search_goes_on_while_a_living_hypothesis_can_still_win(top_beams):
    case, model = load("beam_stops_early.json")
    ids, score = best(case, model, case["alpha"], top_beams)
    assert ids[:4] == case["expected"]["ids"] and not any(ids[4:])
    assert score == pytest.approx(case["expected"]["score"], abs=1e-4)


@pytest.mark.parametrize("top_beams", [1, 2])
def test_nothing_follows_the_end_of_a_sentence(top_beams):
    case, model = load("beam_past_eos.json")
    ids, score = best(case, model, case["alpha"], top_beams)
    assert ids[:2] == case["expected"]["ids"] and not any(ids[2:])
    assert score == pytest.approx(case["expected"]["score"], abs=1e-4)
