"""First fit over ten open rows."""

from __future__ import annotations

from keras_transformer.data import packing


def _example(source_length: int, target_length: int) -> dict[str, list[int]]:
    return {
        "inputs": [*list(range(2, source_length + 1)), 1],
        "targets": [*list(range(12, target_length + 11)), 1],
    }


def test_segments_count_from_one_and_positions_start_again():
    (row,) = packing.pack([_example(3, 2), _example(2, 3)], length=8)
    assert row == {
        "inputs": [2, 3, 1, 2, 1],
        "inputs_segmentation": [1, 1, 1, 2, 2],
        "inputs_position": [0, 1, 2, 0, 1],
        "targets": [12, 1, 12, 13, 1],
        "targets_segmentation": [1, 1, 2, 2, 2],
        "targets_position": [0, 1, 0, 1, 2],
    }


def test_both_sides_must_fit():
    rows = list(packing.pack([_example(3, 6), _example(3, 3), _example(3, 2)], length=8))
    # The second does not fit beside the first (6 + 3 > 8), the third does (6 + 2 = 8).
    assert [row["targets_segmentation"] for row in rows] == [[1] * 6 + [2] * 2, [1] * 3]


def test_spacing_is_padding_and_counts():
    rows = list(packing.pack([_example(3, 3), _example(3, 3)], length=8, spacing=2))
    assert [row["inputs"] for row in rows] == [[2, 3, 1, 0, 0, 2, 3, 1]]
    assert rows[0]["inputs_segmentation"] == [1, 1, 1, 0, 0, 2, 2, 2]
    assert len(list(packing.pack([_example(3, 3), _example(3, 3)], length=8, spacing=3))) == 2


def test_an_over_long_example_is_a_row_of_its_own():
    rows = list(packing.pack([_example(9, 3), _example(2, 2)], length=8))
    assert [len(row["inputs"]) for row in rows] == [9, 2]


def test_the_oldest_of_ten_open_rows_is_written_first():
    # Eleven rows that nothing else fits into: the first leaves when the eleventh comes, so the
    # short example that follows can no longer join it, but joins the second.
    long = [{"inputs": [n] * 6 + [1], "targets": [n] * 6 + [1]} for n in range(2, 13)]
    rows = list(packing.pack([*long, _example(1, 1)], length=8))
    assert [row["inputs"][0] for row in rows] == list(range(2, 13))
    assert [max(row["inputs_segmentation"]) for row in rows] == [1, 2] + [1] * 9
