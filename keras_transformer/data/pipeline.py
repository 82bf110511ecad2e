"""From TFRecord shards to batches of ids.

Batches are dicts of int32 tensors `inputs` `[B, S]` and `targets` `[B, T]`, padded with 0 and with
EOS (1) included; packed problems add `inputs_segmentation`, `inputs_position` and the same for the
targets. B is the *global* batch: the batch size of the bucket times the number of replicas.

Training order is a function of the seed alone: files, records (buffer of 1,024) and batches (buffer
of `batch_shuffle_size`) are shuffled with it, and reading in parallel keeps the order. The iterator
is an ordinary tf.data iterator; `tf.train.Checkpoint(iterator=iterator)` keeps its exact position,
buffers included. T2T draws its order anew at each start and keeps no position; the sizes of its
buffers are kept (`utils/data_reader.py`, `data_generators/problem.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import tensorflow as tf

from keras_transformer.data import batching, tfrecord
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.config import HParams
    from keras_transformer.data.problem import Problem

Batch = dict[str, tf.Tensor]

RECORD_SHUFFLE_BUFFER = 1024  # records (T2T `Problem.dataset` shuffle_buffer_size)
PARALLEL_FILES = 8  # files read in turn (T2T `Problem.dataset` num_threads)
PREFETCHED_BATCHES = 2


def training_dataset(
    problem: Problem,
    data_dir: str,
    hp: HParams,
    num_replicas: int = 1,
    seed: int = 0,
    repeat: bool = True,
    split: str = "train",
) -> tf.data.Dataset:
    """Endless shuffled batches of the training split.

    Args:
        problem: whose shards are read; `_rev` and `_copy` are applied here.
        data_dir: where they lie.
        hp: `batch_size`, `max_length`, `min_length`, `min_length_bucket`, `length_bucket_step`,
            `batch_shuffle_size`, `max_input_seq_length`, `max_target_seq_length`,
            `use_fixed_batch_size`.
        num_replicas: factor on every batch size.
        seed: of all shuffling.
        repeat: False for one pass, with the odd last batches of the buckets.
        split: another split to train on.

    Raises:
        UserError: shards are missing, or no example of the split passes the length limits.
    """
    scheme = batching.scheme_from_hparams(
        hp, True, num_replicas, length_multiplier=problem.batch_size_multiplier
    )
    paths = problem.shard_paths(data_dir, split)
    _require_usable_examples(problem, data_dir, split, paths, hp, scheme)
    files = tf.data.Dataset.from_tensor_slices(paths)
    files = files.shuffle(len(paths), seed=seed, reshuffle_each_iteration=True)
    records = _read_in_turn(files).shuffle(
        RECORD_SHUFFLE_BUFFER, seed=seed + 1, reshuffle_each_iteration=True
    )
    if repeat:
        # After the shuffle, so that records of two epochs meet in batches only (T2T).
        records = records.repeat()
    batches = _batches(_examples(records, problem, hp), scheme)
    if hp.batch_shuffle_size:
        batches = batches.shuffle(
            hp.batch_shuffle_size, seed=seed + 2, reshuffle_each_iteration=True
        )
    return _finished(batches)


def evaluation_dataset(
    problem: Problem, data_dir: str, hp: HParams, split: str = "dev", num_replicas: int = 1
) -> tf.data.Dataset:
    """Every example of a split once, file after file as T2T does, in buckets.

    Long examples are kept unless `eval_drop_long_sequences`. The last batch of a bucket may have
    any size; T2T pads it with empty rows to a multiple of the replicas, the loop deals rows here.

    Raises:
        UserError: shards are missing.
    """
    scheme = batching.scheme_from_hparams(
        hp, False, num_replicas, length_multiplier=problem.batch_size_multiplier
    )
    records = tf.data.TFRecordDataset(problem.shard_paths(data_dir, split), buffer_size=1 << 20)
    return _finished(_batches(_examples(records, problem, hp), scheme))


def _read_in_turn(files: tf.data.Dataset) -> tf.data.Dataset:
    return files.interleave(
        lambda path: tf.data.TFRecordDataset(path, buffer_size=1 << 20),
        cycle_length=PARALLEL_FILES,
        block_length=1,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )


def feature_names(problem: Problem) -> list[str]:
    """Features in the problem's records."""
    names = ["inputs", "targets"]
    if problem.packed_length:
        names += [f"{side}_{kind}" for side in names for kind in ("segmentation", "position")]
    return names


def _examples(records: tf.data.Dataset, problem: Problem, hp: HParams) -> tf.data.Dataset:
    """Records → dicts of int32 vectors, cut to `max_…_seq_length`, in the problem's direction."""
    names = feature_names(problem)
    description = {
        name: tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True) for name in names
    }
    limits = {"inputs": hp.max_input_seq_length, "targets": hp.max_target_seq_length}

    def parse(record: tf.Tensor) -> Batch:
        features = tf.io.parse_single_example(record, description)
        for name in names:
            # T2T cuts before it turns the sides round, and only the ids of a side.
            limit = limits[name.partition("_")[0]]
            ids = tf.cast(features[name], tf.int32)
            features[name] = ids[:limit] if limit else ids
        return problem.oriented(features)

    return records.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)


def _length(example: Mapping[str, tf.Tensor]) -> tf.Tensor:
    return tf.maximum(tf.shape(example["inputs"])[0], tf.shape(example["targets"])[0])


def _batches(examples: tf.data.Dataset, scheme: batching.BatchingScheme) -> tf.data.Dataset:
    def fits(example: Batch) -> tf.Tensor:
        length = _length(example)
        return tf.logical_and(length >= scheme.min_length, length <= scheme.max_length)

    return examples.filter(fits).bucket_by_sequence_length(
        _length, list(scheme.boundaries), list(scheme.batch_sizes)
    )


def _finished(batches: tf.data.Dataset) -> tf.data.Dataset:
    options = tf.data.Options()
    options.deterministic = True
    # The loop shares batches out itself.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return batches.prefetch(PREFETCHED_BATCHES).with_options(options)


def _require_usable_examples(
    problem: Problem,
    data_dir: str,
    split: str,
    paths: list[str],
    hp: HParams,
    scheme: batching.BatchingScheme,
) -> None:
    """An endless dataset of nothing would hang; say so at once instead."""
    examples = _examples(tf.data.TFRecordDataset(paths), problem, hp)
    for example in examples:
        if scheme.min_length <= int(_length(example)) <= scheme.max_length:
            return
    count = sum(tfrecord.count_records(path) for path in paths)
    raise UserError(
        f"none of the {count} examples of {problem.name}-{split} in {data_dir} has a length"
        f" between min_length {scheme.min_length} and max_length {scheme.max_length} subtokens:"
        " set --hparams=max_length=… higher, or make the data again"
    )


def batch_statistics(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """T2T's input statistics of a batch, float32 scalars.

    `<side>_batch` sentences, `<side>_length` positions, `<side>_nonpadding_tokens`, and
    `<side>_nonpadding_fraction`, whose complement is the share of padding.
    """
    statistics = {}
    for side in ("inputs", "targets"):
        shape = tf.cast(tf.shape(batch[side]), tf.float32)
        tokens = tf.reduce_sum(tf.cast(batch[side] != 0, tf.float32))
        statistics[f"{side}_batch"] = shape[0]
        statistics[f"{side}_length"] = shape[1]
        statistics[f"{side}_nonpadding_tokens"] = tokens
        statistics[f"{side}_nonpadding_fraction"] = tokens / tf.maximum(shape[0] * shape[1], 1.0)
    return statistics
