"""Made-up sequences."""

from __future__ import annotations

import pytest

from keras_transformer import registry


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("algorithmic_copy", lambda symbols: symbols),
        ("algorithmic_reverse", lambda symbols: symbols[::-1]),
        ("algorithmic_sort", lambda symbols: sorted(symbols, key=int)),
    ],
)
def test_targets_follow_the_rule_and_splits_are_apart(name, answer, tmp_path):
    problem = registry.problem(name)
    seen = set()
    for split, count in (("train", 10_000), ("dev", 500), ("test", 500)):
        lines = list(problem.source_lines(split))
        assert len(lines) == count and not seen & set(lines)
        seen |= set(lines)
        for line, target in zip(lines, problem.reference_lines(split), strict=True):
            assert target.split() == answer(line.split())
    problem.generate_data(str(tmp_path), "")
    encoder = problem.encoders(str(tmp_path))["inputs"]
    assert encoder.vocab_size == 22
    assert encoder.encode("0 19") == [2, 21]
