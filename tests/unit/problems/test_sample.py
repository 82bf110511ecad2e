"""The embedded sample."""

from __future__ import annotations

from pathlib import Path

from keras_transformer import registry


def _pairs(split):
    problem = registry.problem("sample_ende")
    return list(zip(problem.source_lines(split), problem.reference_lines(split), strict=True))


def test_sizes_and_lengths():
    for split, count in (("train", 19_146), ("dev", 500), ("test", 500)):
        pairs = _pairs(split)
        assert len(pairs) == len(set(pairs)) == count
        assert all(0 < len(side.split()) <= 25 for pair in pairs for side in pair)


def test_no_held_out_sentence_occurs_in_training():
    train = _pairs("train")
    sources, targets = {pair[0] for pair in train}, {pair[1] for pair in train}
    dev, test = _pairs("dev"), _pairs("test")
    assert not any(source in sources or target in targets for source, target in dev + test)
    assert not set(dev) & set(test)


def test_small_and_with_its_licence():
    from keras_transformer.problems import sample

    files = list(Path(sample.FOLDER).glob("libreoffice-help.*"))
    assert len(files) == 6 and sum(file.stat().st_size for file in files) < 3_000_000
    assert "Mozilla Public License" in (sample.FOLDER / "NOTICE.md").read_text()


def test_data_is_made_without_network(tmp_path):
    problem = registry.problem("sample_ende")
    problem.generate_data(str(tmp_path), "/nowhere")
    assert problem.is_generated(str(tmp_path))
    size = problem.encoders(str(tmp_path))["inputs"].vocab_size
    assert abs(size - 4096) < 100
