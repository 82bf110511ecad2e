"""From TFRecord shards to batches of ids.

Batches are dicts of int32 tensors `inputs` `[B, S]` and `targets` `[B, T]`, padded with 0 and with
EOS (1) included; packed problems add `inputs_segmentation`, `inputs_position` and the same for the
targets. B is the *global* batch: the batch size of the bucket times the number of replicas.

Training order is a function of the seed alone: files, records (buffer of 1,024) and batches (buffer
of `batch_shuffle_size`) are shuffled with it, and reading in parallel keeps the order. The iterator
is an ordinary tf.data iterator; `tf.train.Checkpoint(iterator=iterator)` keeps its exact position,
buffers included (records as they stand in the file: at `base`'s settings 6 MB for each replica).
T2T draws its order anew at each start and keeps no position; the sizes of its buffers are kept
(`utils/data_reader.py`, `data_generators/problem.py`).

Several processes (workers) that train together go through the same records in the same order, since
which records make a batch hangs on all that came before; of each batch a worker parses, pads and
gives out only the rows of its own replicas (as the policy DATA of tf.data's auto-sharding passes
over records). They are as wide as the longest sentence of the global batch, not of the worker's own
rows: its length is known from the bucketing, all workers wait for the widest share anyway, and so
noise and rounding do not hang on how replicas are spread over processes. The position is the same
for all, too: finished batches that wait in a buffer are saved with the records of the whole batch,
out of which whoever restores them takes its own rows.
"""

from __future__ import annotations

import bisect
import logging
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import tensorflow as tf

from keras_transformer.data import batching, generation, tfrecord
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.config import HParams
    from keras_transformer.data.problem import Problem

logger = logging.getLogger(__name__)

Batch = dict[str, tf.Tensor]

RECORD_SHUFFLE_BUFFER = 1024  # records (T2T `Problem.dataset` shuffle_buffer_size)
PARALLEL_FILES = 8  # files read in turn (T2T `Problem.dataset` num_threads)
PREFETCHED_BATCHES = 2
# Changes whenever a saved position cannot be taken up any more by pipelines made here.
POSITION_FORM = 2
SIDES = ("inputs", "targets")
_RECORDS_AT_ONCE = 1024
_SEEDS_OF_A_PART = 1000  # between those of two problems that are mixed


def training_dataset(
    problem: Problem,
    data_dir: str,
    hp: HParams,
    num_replicas: int = 1,
    seed: int = 0,
    repeat: bool = True,
    split: str = "train",
    mixed_in: Sequence[tuple[Problem, float]] = (),
    worker: int = 0,
    workers: int = 1,
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
        mixed_in: other problems of the same vocabularies and direction, and how many sentences
            are drawn of each for one of the first (`mixing.Mixture.weighted`).
        worker: number of this process, from 0.
        workers: processes that train together; with more than one, batches hold the rows of this
            one's num_replicas / workers replicas, each of ceil(B / num_replicas), filled up with
            rows of zeros where B is no multiple.

    Raises:
        UserError: shards are missing, or no example of the split passes the length limits.
    """
    scheme = batching.scheme_from_hparams(
        hp, True, num_replicas, length_multiplier=problem.batch_size_multiplier
    )
    parts = [(problem, 1.0), *mixed_in]
    datasets = []
    for number, (part, _) in enumerate(parts):
        paths = part.shard_paths(data_dir, split)
        _require_usable_examples(part, data_dir, split, paths, hp, scheme)
        _report_long_examples(part, data_dir, split, hp, scheme)
        datasets.append(_shuffled_records(paths, seed + _SEEDS_OF_A_PART * number, repeat))
    records = datasets[0]
    if mixed_in:
        drawn = sum(weight for _, weight in parts)
        records = tf.data.Dataset.sample_from_datasets(
            datasets, [weight / drawn for _, weight in parts], seed=seed + 3
        )
    batches = _bucketed(records, hp, scheme)
    in_an_epoch = sum(_batches_in_an_epoch(part, data_dir, split, scheme) for part, _ in parts)
    buffer = min(hp.batch_shuffle_size, in_an_epoch)
    if buffer > 1:
        batches = batches.shuffle(buffer, seed=seed + 2, reshuffle_each_iteration=True)
    return _finished(batches, problem, hp, _Share(worker, workers, num_replicas))


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
    return _finished(_bucketed(records, hp, scheme), problem, hp, _Share(0, 1, num_replicas))


def _shuffled_records(paths: Sequence[str], seed: int, repeat: bool) -> tf.data.Dataset:
    files = tf.data.Dataset.from_tensor_slices(paths)
    files = files.shuffle(len(paths), seed=seed, reshuffle_each_iteration=True)
    records = _read_in_turn(files).shuffle(
        RECORD_SHUFFLE_BUFFER, seed=seed + 1, reshuffle_each_iteration=True
    )
    # After the shuffle, so that records of two epochs meet in batches only (T2T).
    return records.repeat() if repeat else records


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


def _limits(hp: HParams) -> dict[str, int]:
    """Where a side is cut; T2T cuts before it turns the sides round, and only the ids."""
    return {"inputs": hp.max_input_seq_length, "targets": hp.max_target_seq_length}


def _ragged(records: tf.Tensor, names: Sequence[str]) -> dict[str, tf.RaggedTensor]:
    description = {name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64) for name in names}
    return tf.io.parse_example(records, description)


def _lengths(records: tf.Tensor, hp: HParams) -> tf.Tensor:
    """Length of each side of each record after cutting, int64 `[len(records), 2]`."""
    lengths = []
    for side, ids in _ragged(records, SIDES).items():
        length = ids.row_lengths()
        limit = _limits(hp)[side]
        lengths.append(tf.minimum(length, limit) if limit else length)
    return tf.stack(lengths, axis=1)


def _fits(lengths: tf.Tensor, scheme: batching.BatchingScheme) -> tf.Tensor:
    longest = tf.reduce_max(lengths, axis=1)
    return tf.logical_and(longest >= scheme.min_length, longest <= scheme.max_length)


def _bucketed(
    records: tf.data.Dataset, hp: HParams, scheme: batching.BatchingScheme
) -> tf.data.Dataset:
    """Batches of serialised records, string `[B]`, each of one length bucket, with the length of
    the longest of each side, int64 `[2]`.

    As `Dataset.bucket_by_sequence_length` on parsed examples would give them, in the same order,
    for a seventh of the time: lengths are found for many records at once, and a batch is parsed
    when it is whole.
    """
    boundaries = tf.constant(scheme.boundaries, tf.int64)
    batch_sizes = tf.constant(scheme.batch_sizes, tf.int64)

    def with_bucket(some_records: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        lengths = _lengths(some_records, hp)
        longer = tf.reduce_max(lengths, axis=1)
        bucket = tf.searchsorted(boundaries, longer, side="right", out_type=tf.int64)
        fits = _fits(lengths, scheme)
        return tuple(tf.boolean_mask(each, fits) for each in (some_records, lengths, bucket))

    numbered = records.batch(_RECORDS_AT_ONCE).map(
        with_bucket, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
    )
    return (
        numbered.unbatch()
        .group_by_window(
            lambda record, lengths, bucket: bucket,
            lambda bucket, window: window.batch(batch_sizes[bucket]),
            window_size_func=lambda bucket: batch_sizes[bucket],
        )
        .map(lambda some_records, lengths, bucket: (some_records, tf.reduce_max(lengths, axis=0)))
    )


class _Share(NamedTuple):
    """What one of several processes takes of every global batch."""

    worker: int
    workers: int
    replicas: int  # of all workers together

    def of(self, records: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The records whose rows it takes, and how many rows it has, those of padding included."""
        number = tf.size(records)
        if self.workers == 1:
            return records, number
        rows = -(-number // self.replicas) * (self.replicas // self.workers)
        return records[self.worker * rows : (self.worker + 1) * rows], rows


def _finished(
    batches: tf.data.Dataset, problem: Problem, hp: HParams, share: _Share
) -> tf.data.Dataset:
    """Parses and pads the share of whole batches, in the problem's direction."""
    names = feature_names(problem)
    mine = tf.constant([share.worker, share.workers], tf.int64)

    def parse(some_records: tf.Tensor, lengths: tf.Tensor) -> Batch:
        own, rows = share.of(some_records)
        features = {}
        for name, values in _ragged(own, names).items():
            # No row is longer than that after cutting.
            length = lengths[SIDES.index(name.partition("_")[0])]
            shape = tf.stack([tf.cast(rows, tf.int64), length])
            features[name] = tf.cast(values.to_tensor(shape=shape), tf.int32)
        return problem.oriented(features)

    def parse_ahead(some_records: tf.Tensor, lengths: tf.Tensor) -> tuple[Any, ...]:
        return parse(some_records, lengths), mine, some_records, lengths

    def take(batch: Batch, owner: tf.Tensor, some_records: tf.Tensor, lengths: tf.Tensor) -> Batch:
        # A saved position brings the batches along that waited in the buffers of who saved it.
        return tf.cond(
            tf.reduce_all(owner == mine), lambda: batch, lambda: parse(some_records, lengths)
        )

    options = tf.data.Options()
    options.deterministic = True
    # The loop shares batches out itself.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    # TensorFlow would buffer what `take` gives, too, and save it with the position.
    options.experimental_optimization.map_parallelization = False
    options.experimental_optimization.inject_prefetch = False
    batches = batches.map(parse_ahead, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    return batches.prefetch(PREFETCHED_BATCHES).map(take).with_options(options)


def _batches_in_an_epoch(
    problem: Problem, data_dir: str, split: str, scheme: batching.BatchingScheme
) -> int:
    """How many batches the split gives; a larger shuffle buffer would only delay the start."""
    lengths = _known_lengths(problem, data_dir, split)
    if not lengths:
        return batching.NO_LIMIT
    batches = 0.0
    for length, examples in lengths.items():
        if scheme.min_length <= length <= scheme.max_length:
            bucket = bisect.bisect_right(scheme.boundaries, length)
            batches += examples / scheme.batch_sizes[bucket]
    return math.ceil(batches)


def _known_lengths(problem: Problem, data_dir: str, split: str) -> dict[int, int]:
    """Length of the longer side → examples. Empty for data made by T2T, and for packed data, whose
    rows have other lengths."""
    if problem.packed_length:
        return {}
    manifest = generation.read_manifest(data_dir, problem.dataset_filename())
    lengths = (manifest or {}).get("splits", {}).get(split, {}).get("lengths") or {}
    return {int(length): examples for length, examples in lengths.items()}


def _report_long_examples(
    problem: Problem, data_dir: str, split: str, hp: HParams, scheme: batching.BatchingScheme
) -> None:
    lengths = _known_lengths(problem, data_dir, split)
    long = sum(examples for length, examples in lengths.items() if length > scheme.max_length)
    if long and not any(_limits(hp).values()):  # what is cut is not left out
        logger.warning(
            "%s-%s: %d of %d examples are longer than max_length=%d subtokens, the longest has %d:"
            " they are left out",
            problem.name,
            split,
            long,
            sum(lengths.values()),
            scheme.max_length,
            max(lengths),
        )


def _require_usable_examples(
    problem: Problem,
    data_dir: str,
    split: str,
    paths: list[str],
    hp: HParams,
    scheme: batching.BatchingScheme,
) -> None:
    """An endless dataset of nothing would hang; say so at once instead."""
    if problem.packed_length and problem.packed_length > scheme.max_length:
        raise UserError(
            f"{problem.name} has packed rows of up to {problem.packed_length} subtokens, and"
            f" max_length {scheme.max_length} would leave nearly all of them out: set"
            f" --hparams=…,max_length={problem.packed_length}"
        )
    for some_records in tf.data.TFRecordDataset(paths).batch(_RECORDS_AT_ONCE):
        if tf.reduce_any(_fits(_lengths(some_records, hp), scheme)):
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
