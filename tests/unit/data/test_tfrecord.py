"""TFRecord files by hand, against TensorFlow's own reader and writer."""

from __future__ import annotations

import random

import pytest
import tensorflow as tf

from keras_transformer.data import tfrecord
from keras_transformer.errors import UserError


def _records() -> list[bytes]:
    generator = random.Random(0)
    return [generator.randbytes(generator.choice((0, 1, 7, 250, 3000))) for _ in range(200)]


def test_checksum_of_a_known_text():
    # CRC-32C of "123456789" is 0xE3069283 (RFC 3720); masked: rotated by 15, plus 0xA282EAD8.
    crc = 0xE3069283
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    assert tfrecord.masked_crc32c([b"123456789", b""]).tolist()[0] == masked


def test_tensorflow_reads_what_is_written(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(b"".join(tfrecord.frame_records(_records())))
    assert list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()) == _records()


def test_what_tensorflow_writes_is_read(tmp_path):
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path) as writer:
        for record in _records():
            writer.write(record)
    assert list(tfrecord.read_records(path, block_bytes=1000)) == _records()
    assert tfrecord.count_records(path) == len(_records())


@pytest.mark.parametrize("lost", [1, 4, 10, 20])
def test_a_file_that_is_cut_off_is_refused(tmp_path, lost):
    path = tmp_path / "records"
    path.write_bytes(b"".join(tfrecord.frame_records([b"a" * 30, b"b" * 30]))[:-lost])
    with pytest.raises(UserError, match="cut off"):
        list(tfrecord.read_records(str(path)))
    with pytest.raises(UserError, match="cut off"):
        tfrecord.count_records(str(path))


def test_a_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "records"
    data = bytearray(b"".join(tfrecord.frame_records([b"a" * 30])))
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises(UserError, match="checksum"):
        list(tfrecord.read_records(str(path)))
