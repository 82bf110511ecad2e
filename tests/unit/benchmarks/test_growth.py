from __future__ import annotations

import pytest

from benchmarks import growth

SIZES = [1, 2, 4, 8, 16]


def test_a_line_is_found_again():
    line = growth.fit(SIZES, [3 + 0.5 * size for size in SIZES])
    assert (line.constant, line.slope) == pytest.approx((3, 0.5))
    assert line.deviation == pytest.approx(0, abs=1e-9)
    assert not line.is_too_steep()


def test_what_grows_faster_than_a_line_is_called_out():
    line = growth.fit(SIZES, [size**2 for size in SIZES])
    assert line.exponent == pytest.approx(2)
    assert line.is_too_steep()
    assert not line.is_too_steep(power=2)
    assert line.deviation > 0.5


def test_no_part_of_a_line_is_below_zero():
    steep = growth.fit([1, 2, 4], [1, 2.4, 5])
    assert steep.constant == 0
    assert 1 < steep.slope < 1.25
    falling = growth.fit([1, 2, 4], [3, 2.9, 2.8])
    assert falling.slope == 0
    assert 2.8 < falling.constant < 3


def test_every_curve_changes_one_size_only():
    for curve in growth.curves(quick=False):
        jobs = [curve.job(value) for value in curve.values]
        changed = {name for name in jobs[0] if len({job[name] for job in jobs}) > 1}
        if curve.name == "length":  # as many tokens in all
            assert len({job["sentences"] * job["length"] for job in jobs}) == 1
            changed.discard("sentences")
        assert len(changed) == 1


def test_tables_show_figures_formulas_and_what_is_too_steep():
    points = [{"size": size, "seconds": 0.001 * size**2, "bytes": size * 2**20} for size in SIZES]
    results = {
        "layers": {
            "size": "layers",
            "points": points,
            "seconds": growth.figure("a + b", SIZES, [point["seconds"] for point in points]),
            "bytes": growth.figure("c + d", SIZES, [point["bytes"] for point in points]),
        }
    }
    table = growth.as_markdown(results)
    assert "| 16 | 0.256 | 16 |" in table
    time, memory = (line for line in table.splitlines() if line.startswith(("Time", "Memory")))
    assert "a + b" in time and "steeper than its formula" in time
    assert "c + d" in memory and "as it must" in memory


@pytest.mark.slow
@pytest.mark.parametrize("curve", growth.curves(quick=False), ids=lambda curve: curve.name)
def test_the_last_point_of_every_curve_can_be_measured(curve):
    small = {"repeats": 1, "hidden_size": 8, "filter_size": 8, "num_heads": 2}
    job = {"work": curve.work, **curve.job(curve.values[-1]), **small}
    (report,) = growth.run_jobs([job])
    assert report["seconds"] > 0


@pytest.mark.slow
def test_the_quick_curves_are_measured_and_drawn(tmp_path):
    results = growth.measure(quick=True)
    wanted = growth.curves(quick=True)
    assert list(results) == [curve.name for curve in wanted]
    for curve in wanted:
        points = results[curve.name]["points"]
        assert [point["size"] for point in points] == list(curve.values)
        assert all(point["seconds"] > 0 and point["bytes"] > 0 for point in points)
    growth.draw(results, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
