"""Table 1, measured: the figures made of what the processes report, and the whole way in small."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks import layer_types, table1
from benchmarks.harness import REPOSITORY


def test_the_slope_is_the_exponent():
    lengths = [8, 16, 32, 64]
    assert table1.slope(lengths, [3e-6 * n**2 for n in lengths]) == pytest.approx(2)
    assert table1.slope(lengths, [5e-6 * n for n in lengths]) == pytest.approx(1)
    assert table1.slope(lengths, [1.0, 2.0, -1.0, 4.0]) is None
    assert table1.slope([8], [1.0]) is None


@pytest.mark.parametrize(
    ("layer", "axis", "exponent"),
    [
        ("self-attention", "n", 2),
        ("recurrent", "n", 1),
        ("recurrent", "d", 2),
        ("convolutional", "n", 1),
        ("convolutional", "d", 2),
        ("restricted", "n", 1),
    ],
)
def test_counted_operations_grow_as_the_table_says(layer, axis, exponent):
    small = {"n": 2**16, "d": 256}
    large = {**small, axis: 2 * small[axis]}
    ratio = layer_types.operations(layer, **large) / layer_types.operations(layer, **small)
    assert ratio == pytest.approx(2**exponent, rel=0.01)
    assert layer_types.table1()[layer][axis] == exponent


def test_attending_is_what_is_left_without_the_projections():
    sizes = [(n, 64) for n in (64, 128, 256, 512)]
    projections = {size: [1e-6 * size[0]] for size in sizes}
    attention = {size: [1e-6 * size[0] + 1e-9 * size[0] ** 2] for size in sizes}
    seconds = {"self-attention": attention, "projections": projections}
    found = table1.slopes("self-attention", sizes, seconds)
    assert found["attending"] == pytest.approx(2)
    assert 1 < found["layer"] < 1.5
    # Multiply-adds of attending alone: n² d for the logits, as many for the sum.
    n, d = 4096, 64
    attending = layer_types.operations("self-attention", n, d) - layer_types.operations(
        "projections", n, d
    )
    assert attending == 3 * 2 * 2 * n * n * d


def test_restricted_attention_keeps_windows_not_squares():
    n, d = 2**14, 64
    restricted, full = (
        layer_types.kept_bytes(layer, n, d) for layer in ("restricted", "self-attention")
    )
    assert full > 4 * n * n
    assert restricted < full / 20
    assert layer_types.kept_bytes("restricted", 2 * n, d) == 2 * restricted


@pytest.mark.slow
def test_the_whole_way_in_small(tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.table1", "--quick", f"--folder={tmp_path}"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads((tmp_path / "table1.json").read_text(encoding="utf-8"))
    assert set(found["layers"]) == {*layer_types.LAYERS, layer_types.PROJECTIONS}
    for figures in found["layers"].values():
        assert [(e["n"], e["d"]) for e in figures][:2] == [(16, 256), (32, 256)]
        assert all(e["seconds"] > 0 and e["memory_bytes"] >= 0 for e in figures)
    assert set(found["exponents"]) == set(layer_types.LAYERS)
    text = (tmp_path / "table1.md").read_text(encoding="utf-8")
    assert text in done.stdout
    assert "| self-attention | O(n² d) | 2 |" in text
    assert (tmp_path / "table1.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "table1.json",
        "table1.md",
        "table1.png",
    ]
