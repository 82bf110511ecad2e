"""From text samples to shuffled TFRecord shards.

As T2T does it (`generator_utils.generate_files`, `shuffle_dataset`): examples are dealt to the
shards in turn, then each shard alone is read, shuffled and written. Everything is written in the
work folder `<data_dir>/<problem>.partial` and moved out at the end; as long as that folder exists
the data is not trusted, and the next run begins the shards anew (the vocabulary, written whole
or not at all, is kept).

`<problem>.manifest.json` beside the shards records what they were made from and how long their
examples are.
"""

from __future__ import annotations

import functools
import itertools
import json
import logging
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.data import example_format, packing, shards, tfrecord, workers
from keras_transformer.data.work_folder import work_folder, write_json
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.data.problem import Encoder
    from keras_transformer.data.text_problem import Text2TextProblem

logger = logging.getLogger(__name__)

SEED = 429459  # T2T's --random_seed of t2t-datagen
EOS_ID = 1
_CHUNK_SAMPLES = 1000
_BUFFERED_BYTES = 64 << 20
_SECONDS_BETWEEN_REPORTS = 10.0


@dataclass
class SplitReport:
    """What one split became.

    Attributes:
        examples: examples written (before packing).
        left_out: pairs left out because a side was empty.
        lengths: longer side of an example in subtokens, EOS included → number of examples.
    """

    examples: int = 0
    left_out: int = 0
    lengths: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class _Chunk:
    """Framed records of a run of examples, already divided by shard."""

    by_shard: list[tuple[int, bytes]]
    lengths: list[int]


def generate(
    problem: Text2TextProblem,
    data_dir: str,
    tmp_dir: str,
    *,
    num_shards: int | None = None,
    seed: int = SEED,
    max_cases: int | None = None,
    num_workers: int | None = None,
) -> None:
    """Makes the vocabulary and the shards of a problem, unless they are there.

    Args:
        problem: the problem.
        data_dir: where vocabulary and shards go; made if needed.
        tmp_dir: where corpora lie or are downloaded to.
        num_shards: training shards instead of the problem's own number (T2T `--num_shards`).
        seed: of the shuffle of each shard.
        max_cases: use only so many samples of each split (T2T `--max_cases`).
        num_workers: processes that encode; default all cores.

    Raises:
        UserError: something is missing or wrong with the sources; the directory holds data made
            from something else; another process is generating the same data.
    """
    if problem.is_generated(data_dir):
        logger.info("%s: data is there in %s", problem.name, data_dir)
        return
    problem.prepare_sources(data_dir, tmp_dir)
    num_workers = workers.default_count() if num_workers is None else num_workers
    splits = _splits(problem, num_shards)
    Path(data_dir).mkdir(parents=True, exist_ok=True)
    with work_folder(problem, data_dir, {split: count for split, count in splits}) as work:
        problem.get_or_create_vocab(data_dir, tmp_dir)
        reports = _deal_all(problem, data_dir, tmp_dir, work, splits, max_cases, num_workers)
        _shuffle_all(problem, work, splits, seed, num_workers)
        for path in sorted(work.glob(f"{problem.dataset_filename()}-*")):
            os.replace(path, Path(data_dir, path.name))
        _write_manifest(problem, data_dir, splits, reports, seed)


def _splits(problem: Text2TextProblem, num_shards: int | None) -> list[tuple[str, int]]:
    result = []
    for row in problem.dataset_splits:
        split, count = str(row["split"]), int(row["shards"])
        if split not in shards.SPLITS:
            raise UserError(
                f"problem {problem.name}: dataset_splits names the split {split!r}; it must be"
                f" one of {', '.join(shards.SPLITS)}"
            )
        result.append((split, num_shards if num_shards and split == "train" else count))
    return result


# ---- dealing --------------------------------------------------------------------------------


def _deal_all(
    problem: Text2TextProblem,
    data_dir: str,
    tmp_dir: str,
    work: Path,
    splits: Sequence[tuple[str, int]],
    max_cases: int | None,
    num_workers: int,
) -> dict[str, SplitReport]:
    name = problem.dataset_filename()
    unshuffled = {
        split: shards.paths(str(work), name, split, count, shuffled=False)
        for split, count in splits
    }
    if problem.is_generate_per_split:
        jobs = list(unshuffled.items())
    else:
        # One stream over the shards of all splits, as T2T does.
        jobs = [("train", list(itertools.chain.from_iterable(unshuffled.values())))]
    reports = {}
    for split, paths in jobs:
        reports[split] = _deal(problem, data_dir, tmp_dir, split, paths, max_cases, num_workers)
    return reports


def _deal(
    problem: Text2TextProblem,
    data_dir: str,
    tmp_dir: str,
    split: str,
    paths: Sequence[str],
    max_cases: int | None,
    num_workers: int,
) -> SplitReport:
    """Encodes a split's samples and deals them to the unshuffled shards in turn."""
    report = SplitReport()
    samples: Iterable[Mapping[str, Any]]
    encode: Callable[[tuple[int, list[Mapping[str, Any]]]], _Chunk]
    if _makes_ids_itself(problem):
        samples = problem.generate_encoded_samples(data_dir, tmp_dir, split)
        encode = functools.partial(encode_chunk, None, len(paths))
    else:
        samples = _whole_pairs(problem.generate_samples(data_dir, tmp_dir, split), report)
        encoders = dict(problem.feature_encoders(data_dir))
        encode = functools.partial(encode_chunk, encoders, len(paths))
    if max_cases:
        samples = itertools.islice(samples, max_cases)
    buffers = _ShardBuffers(paths)
    started = reported = time.monotonic()
    for chunk in workers.ordered_map(encode, _chunks(samples), num_workers):
        buffers.add(chunk.by_shard)
        report.examples += len(chunk.lengths)
        report.lengths.update(chunk.lengths)
        if time.monotonic() - reported > _SECONDS_BETWEEN_REPORTS:
            reported = time.monotonic()
            rate = report.examples / (reported - started)
            logger.info(
                "%s %s: %d examples, %.0f a second", problem.name, split, report.examples, rate
            )
    buffers.flush()
    if report.left_out:
        logger.warning(
            "%s %s: %d pairs were left out because a side was empty",
            problem.name,
            split,
            report.left_out,
        )
    if not report.examples:
        raise UserError(
            f"problem {problem.name} has no example for the split {split}:"
            " its files are empty, or in every pair a side is"
        )
    logger.info("%s %s: %d examples", problem.name, split, report.examples)
    return report


def _makes_ids_itself(problem: Text2TextProblem) -> bool:
    from keras_transformer.data.text_problem import Text2TextProblem

    own = type(problem).generate_encoded_samples
    return own is not Text2TextProblem.generate_encoded_samples


def _whole_pairs(
    samples: Iterable[Mapping[str, str]], report: SplitReport
) -> Iterator[Mapping[str, str]]:
    for sample in samples:
        if all(text and not text.isspace() for text in sample.values()):
            yield sample
        else:
            report.left_out += 1


def _chunks(
    samples: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[int, list[Mapping[str, Any]]]]:
    stream = iter(samples)
    first = 0
    while chunk := list(itertools.islice(stream, _CHUNK_SAMPLES)):
        yield first, chunk
        first += len(chunk)


def encode_chunk(
    encoders: Mapping[str, Encoder] | None,
    num_shards: int,
    numbered: tuple[int, list[Mapping[str, Any]]],
) -> _Chunk:
    """Encodes a run of samples into framed records, divided by shard.

    Args:
        encoders: side → encoder; None when the samples are ids already.
        num_shards: shards the examples are dealt to.
        numbered: number of the first sample in its split, and the samples.
    """
    first, samples = numbered
    lengths = []
    records = []
    for number, sample in enumerate(samples, start=first):
        if encoders is None:
            features = {name: list(ids) for name, ids in sample.items()}
        else:
            features = {
                side: [*encoders[side].encode(text), EOS_ID] for side, text in sample.items()
            }
        try:
            records.append(example_format.encode_example(features))
        except ValueError as error:
            raise UserError(
                f"sample {number + 1} of the problem cannot be written: {error}"
            ) from None
        lengths.append(max(len(ids) for ids in features.values()))
    frames = tfrecord.frame_records(records)
    by_shard = [
        ((first + offset) % num_shards, b"".join(frames[offset::num_shards]))
        for offset in range(min(num_shards, len(frames)))
    ]
    return _Chunk(by_shard, lengths)


class _ShardBuffers:
    """Appends to many files with few open at a time."""

    def __init__(self, paths: Sequence[str]):
        self._paths = paths
        self._parts: list[list[bytes]] = [[] for _ in paths]
        self._bytes = 0
        for path in paths:
            Path(path).touch()

    def add(self, by_shard: Iterable[tuple[int, bytes]]) -> None:
        for shard, data in by_shard:
            self._parts[shard].append(data)
            self._bytes += len(data)
        if self._bytes > _BUFFERED_BYTES:
            self.flush()

    def flush(self) -> None:
        for path, parts in zip(self._paths, self._parts, strict=True):
            if parts:
                with Path(path).open("ab") as stream:
                    stream.write(b"".join(parts))
                parts.clear()
        self._bytes = 0


# ---- shuffling ------------------------------------------------------------------------------


def _shuffle_all(
    problem: Text2TextProblem,
    work: Path,
    splits: Sequence[tuple[str, int]],
    seed: int,
    num_workers: int,
) -> None:
    name = problem.dataset_filename()
    tasks = []
    for split, count in splits:
        unshuffled = shards.paths(str(work), name, split, count, shuffled=False)
        shuffled = shards.paths(str(work), name, split, count)
        for number, (source, target) in enumerate(zip(unshuffled, shuffled, strict=True)):
            tasks.append((source, target, f"{seed}/{split}/{number}"))
    shuffle = functools.partial(shuffle_shard, problem.packed_length, problem.packed_spacing)
    for _ in workers.ordered_map(shuffle, tasks, num_workers):
        pass


def shuffle_shard(packed_length: int | None, spacing: int, task: tuple[str, str, str]) -> None:
    """Reads an unshuffled shard into memory, shuffles it, packs it if asked, writes it.

    Args:
        packed_length: row length of a packed problem, else None.
        spacing: padding between packed examples.
        task: the unshuffled file (deleted afterwards), the file to write, the seed.
    """
    source, target, seed = task
    frames = tfrecord.split_frames(Path(source).read_bytes(), source)
    random.Random(seed).shuffle(frames)
    if packed_length:
        examples = (
            example_format.decode_example(tfrecord.record_of_frame(frame)) for frame in frames
        )
        rows = packing.pack(examples, packed_length, spacing)
        frames = tfrecord.frame_records([example_format.encode_example(row) for row in rows])
    Path(target).write_bytes(b"".join(frames))
    Path(source).unlink()


# ---- the manifest ---------------------------------------------------------------------------


def manifest_path(data_dir: str, name: str) -> Path:
    """The file beside the shards that says what they were made from."""
    return Path(data_dir, f"{name}.manifest.json")


def read_manifest(data_dir: str, name: str) -> dict[str, Any] | None:
    """The manifest of a problem's data; None for data made by T2T."""
    path = manifest_path(data_dir, name)
    if not path.is_file():
        return None
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except ValueError:
        raise UserError(f"{path} is damaged (it is not JSON): make the data again") from None


def _write_manifest(
    problem: Text2TextProblem,
    data_dir: str,
    splits: Sequence[tuple[str, int]],
    reports: Mapping[str, SplitReport],
    seed: int,
) -> None:
    content = {
        "problem": problem.name,
        "sources": problem.source_fingerprint(),
        "seed": seed,
        "shards": dict(splits),
        "splits": {
            split: {
                "examples": report.examples,
                "left_out_empty_side": report.left_out,
                "lengths": {str(length): n for length, n in sorted(report.lengths.items())},
            }
            for split, report in reports.items()
        },
    }
    write_json(manifest_path(data_dir, problem.dataset_filename()), content)
