"""WMT through tensorflow-datasets, from a data set written in its own format."""

from __future__ import annotations

import logging

import pytest

from keras_transformer import registry
from keras_transformer.data import download, generation
from keras_transformer.errors import UserError

pytestmark = [
    pytest.mark.slow,
    # importing and writing with tensorflow-datasets warns of its own use of others
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    import tensorflow as tf
    import tensorflow_datasets as tfds

    tmp_dir = tmp_path_factory.mktemp("corpora")
    folder = tmp_dir / "tensorflow_datasets"
    folder.mkdir()
    builder = tfds.builder("wmt_t2t_translate/de-en", data_dir=folder)

    def split(name, count):
        return tf.data.Dataset.from_tensor_slices(
            {
                "de": [f"{name} Satz {n}" for n in range(count)],
                "en": [f" {name} sentence {n}\u00a0" for n in range(count)],
            }
        )

    tfds.dataset_builders.store_as_tfds_dataset(
        name="wmt_t2t_translate",
        config="de-en",
        version=str(builder.version),
        features=builder.info.features,
        split_datasets={
            "train": split("train", 40),
            "validation": split("dev", 3),
            "test": split("test", 2),
        },
        data_dir=str(folder),
        disable_shuffling=True,
    )
    return str(tmp_dir)


def test_shards_and_vocabulary(prepared, tmp_path, caplog):
    problem = registry.problem("translate_ende_wmt8k", source="tfds")
    with caplog.at_level(logging.WARNING):
        problem.generate_data(str(tmp_path), prepared)
    assert "cannot be rebuilt from tensorflow-datasets" in caplog.text
    manifest = generation.read_manifest(str(tmp_path), problem.name)
    assert manifest["sources"] == {"source": "tfds"}
    assert {s: r["examples"] for s, r in manifest["splits"].items()} == {"train": 40, "dev": 3}
    # Data of the one source is not taken for that of the other.
    with pytest.raises(UserError, match="use another --data_dir"):
        registry.problem("translate_ende_wmt8k").is_generated(str(tmp_path))


def test_lines_are_stripped_and_directions_follow_the_name(prepared):
    problem = registry.problem("translate_ende_wmt8k", source="tfds")
    assert list(problem.source_lines("test", tmp_dir=prepared)) == [
        "test sentence 0",
        "test sentence 1",
    ]
    turned = registry.problem("translate_ende_wmt8k_rev", source="tfds")
    assert next(turned.source_lines("dev", tmp_dir=prepared)) == "dev Satz 0"


def test_without_network_it_ends_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "_probe", lambda url: "no network")
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    (tmp_path / "tensorflow_datasets").mkdir()
    with pytest.raises(UserError, match=r"tfds build wmt14_translate/fr-en"):
        registry.problem("wmt14_enfr", source="tfds").generate_data(
            str(tmp_path / "data"), str(tmp_path)
        )
