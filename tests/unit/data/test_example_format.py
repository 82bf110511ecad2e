"""tf.Example records by hand, against TensorFlow's protocol buffers and T2T's shards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tensorflow as tf

from keras_transformer.data import example_format, tfrecord

GOLDEN = Path(__file__).parents[2] / "golden" / "data_pipeline"


def _protocol_buffer(features):
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
                for name, values in features.items()
            }
        )
    )


@pytest.mark.parametrize(
    "features",
    [
        {"inputs": [3, 127, 128, 16383, 16384, 1], "targets": [1]},
        {"inputs": [0, -1, -(2**63), 2**63 - 1], "targets": list(range(300))},
    ],
)
def test_same_meaning_as_the_protocol_buffer(features):
    record = example_format.encode_example(features)
    assert tf.train.Example.FromString(record) == _protocol_buffer(features)
    assert example_format.decode_example(_protocol_buffer(features).SerializeToString()) == features


def test_features_of_other_types_are_left_out():
    example = _protocol_buffer({"inputs": [5, 1]})
    example.features.feature["text"].bytes_list.value.append(b"five")
    example.features.feature["weight"].float_list.value.append(0.5)
    assert example_format.decode_example(example.SerializeToString()) == {"inputs": [5, 1]}


def test_values_that_are_not_packed_are_read():
    # Int64List { value: 5, value: 1 } written as two fields, as proto2 writers do.
    feature = bytes([0x1A, 4, 0x08, 5, 0x08, 1])
    entry = bytes([0x0A, 1]) + b"x" + bytes([0x12, len(feature)]) + feature
    features = bytes([0x0A, len(entry)]) + entry
    assert example_format.decode_example(bytes([0x0A, len(features)]) + features) == {"x": [5, 1]}


def test_an_empty_feature_is_refused():
    with pytest.raises(ValueError, match="'targets' is empty"):
        example_format.encode_example({"inputs": [1], "targets": []})


def test_tensor2tensors_shards_are_read():
    expected = json.loads((GOLDEN / "records.json").read_text())["records_in_file_order"]
    for name, records in expected.items():
        read = tfrecord.read_records(str(GOLDEN / "data" / name))
        assert [example_format.decode_example(record) for record in read] == records
