"""Ids and scores of Tensor2Tensor's own decodes, on tiny models that it trained.

Releases up to 1.6 stop a search by other rules, so of theirs only the best output is compared.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pytest

import keras_transformer as kt
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.search_graph import SearchGraph

MODELS = Path(__file__).parents[2] / "golden" / "models"
NAMES = sorted(path.parent.name for path in MODELS.glob("*/decode_settings.json"))
# One of each kind in the fast tier: post-norm, pre-norm, separate vocabularies with a wide beam.
FAST = ("base_v1", "base_v3", "parsing_base")
EACH_MODEL = [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in NAMES]


@functools.lru_cache(maxsize=1)
def opened(name: str):
    folder = MODELS / name
    problem = json.loads((folder / "problem.json").read_text())
    prefix = str(next(folder.glob("model.ckpt-*.index"))).removesuffix(".index")
    model = kt.t2t_compat.load_model(prefix, target_space_id=problem["target_space_id"])
    settings = json.loads((folder / "decode_settings.json").read_text())
    searches = {key: value for key, value in settings.items() if isinstance(value, dict)}
    arrays = dict(np.load(folder / "expected.npz"))
    for search, value in searches.items():
        value["decode_length"] = value["decode_length_extra"] + arrays["inputs"].shape[1]
        if f"decode_{search}_row_is_stable" not in arrays:  # of old releases, not recorded
            arrays[f"decode_{search}_row_is_stable"] = np.ones(len(arrays["inputs"]), bool)
            if value["top_beams"] > 1:
                for kind in ("ids", "scores"):
                    name = f"decode_{search}_{kind}"
                    if name in arrays:
                        arrays[name] = arrays[name][:, :1]
    return SearchGraph([model]), searches, arrays


def options_of(settings: dict) -> DecodeOptions:
    return DecodeOptions(
        beam_size=settings["beam_size"], alpha=settings["alpha"], n_best=settings["top_beams"]
    )


def cut(row) -> list[int]:
    said = [int(symbol) for symbol in row]
    return said[: said.index(1) + 1] if 1 in said else np.trim_zeros(said, "b")


def expected_beams(arrays: dict, search: str, row: int) -> list[tuple[list[int], float]]:
    """T2T's outputs of one sentence; places that hold no hypothesis are left out."""
    ids = arrays[f"decode_{search}_ids"][row]
    ids = ids[np.newaxis] if ids.ndim == 1 else ids
    scores = arrays.get(f"decode_{search}_scores")
    if scores is None:  # some old releases give none
        return [(cut(i), np.nan) for i in ids]
    rows = zip(ids, np.atleast_1d(scores[row]), strict=True)
    return [(cut(i), float(s)) for i, s in rows if s > -1e6]


def assert_equal(ids, scores, expected) -> None:
    assert [cut(row) for row in ids[: len(expected)]] == [row for row, _ in expected]
    for score, (_, wanted) in zip(scores, expected, strict=False):
        assert np.isnan(wanted) or score == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("name", EACH_MODEL)
def test_every_search_of_the_whole_batch(name):
    graph, searches, arrays = opened(name)
    inputs = arrays["inputs"]
    compared = 0
    for search, settings in searches.items():
        limits = [settings["decode_length"]] * len(inputs)
        ids, scores = graph.search(inputs, limits, options_of(settings))
        for row in np.flatnonzero(arrays[f"decode_{search}_row_is_stable"]):
            assert_equal(ids[row], scores[row], expected_beams(arrays, search, row))
            compared += 1
    assert compared >= 0.8 * len(inputs) * len(searches)


@pytest.mark.parametrize("name", EACH_MODEL)
def test_alone_and_in_other_batches(name):
    """Padding, neighbours, their order and their limits change no sentence."""
    graph, searches, arrays = opened(name)
    settings = searches["beam4"]
    inputs, stable = arrays["inputs"], arrays["decode_beam4_row_is_stable"]
    rows = len(inputs)
    for batch in ([rows - 1], [0], list(reversed(range(rows))), [2, 0, rows - 1]):
        chosen = inputs[batch]
        chosen = chosen[:, : np.flatnonzero(chosen.any(axis=0)).max() + 1]
        limits = [settings["decode_length"]] * len(batch)
        # A neighbour that must stop early does not stop the others.
        if len(batch) > 2:
            limits[1] = 3
        ids, scores = graph.search(chosen, limits, options_of(settings))
        for place, row in enumerate(batch):
            if stable[row] and limits[place] > 3:
                expected = expected_beams(arrays, "beam4", row)
                assert_equal(ids[place], scores[place], expected)
