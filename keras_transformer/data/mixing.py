"""Training on several corpora at once: how much of each, and whether they fit together.

A mixture is a main problem, which evaluation and decoding go by, and other parts with weights:
problems, or parallel files. Sentences are drawn from the parts at random, with a fixed seed, before
they are put into length buckets, so that batches hold sentences of all parts (records, for packed
data). Each part is read over and over on its own. A weight is one of two things:

    0.5     sentences drawn for each one of the main problem: shares are 2/3 and 1/3
    2x      times it is read for each time the main problem is read, whatever their sizes
    none    1x, as if the files were joined

(T2T `MultiProblem` mixes by a share of examples, fairseq's `--upsample-primary` by passes,
OpenNMT-tf's `train_files_weights` by shares.)
"""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_transformer.data import generation, tfrecord
from keras_transformer.data.bucket_fill import shard_lengths
from keras_transformer.data.parallel_files import ParallelFiles
from keras_transformer.data.problem import DatasetSplit, Problem
from keras_transformer.errors import UserError

AS_JOINED = "1x"
SIDES = ("inputs", "targets")
_MEASURED_RECORDS = 10_000

Record = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One corpus beside the main problem.

    Attributes:
        problem: its data.
        weight: as the user wrote it, `0.5` or `2x`.
        record: what rebuilds it (JSON-able), stored with a run.
    """

    problem: Problem
    weight: str
    record: Record


@dataclass(frozen=True)
class Share:
    """How much of the training a part is.

    Attributes:
        name: the problem's.
        weight: as the user wrote it; "1" for the main problem.
        records: sentences of its training split; rows of packed data.
        sentence_share: of all sentences (rows) that are drawn.
        token_share: of all target subtokens, from the mean length of its first records.
        passes: times it is read for each time the main problem is read.
    """

    name: str
    weight: str
    records: int
    sentence_share: float
    token_share: float
    passes: float

    def as_text(self) -> str:
        """One line."""
        return (
            f"{self.name}: {self.sentence_share:.1%} of the sentences, {self.token_share:.1%} of"
            f" the target subtokens; {self.records:,} sentences, read {self.passes:.3g} times for"
            " each time the first is"
        )


class Mixture:
    """A main problem and what is mixed in; without parts it is the problem alone.

    Args:
        main: what is learnt.
        parts: the others.

    Raises:
        UserError: a part is there twice, has another direction, or is packed where the main
            problem is not.
    """

    def __init__(self, main: Problem, parts: Sequence[Part] = ()):
        self.main = main
        self.parts = tuple(parts)
        names = [main.dataset_filename()]
        for part in self.parts:
            problem = part.problem
            if problem.dataset_filename() in names:
                raise UserError(
                    f"--mix: {problem.full_name} is there twice; the first problem's weight is 1,"
                    " those of the others are relative to it"
                )
            names.append(problem.dataset_filename())
            if (problem.was_reversed, problem.was_copy) != (main.was_reversed, main.was_copy):
                raise UserError(
                    f"--mix: {problem.full_name} and {main.full_name} have not the same direction:"
                    " both names or neither must end in _rev (or _copy)"
                )
            if bool(problem.packed_length) != bool(main.packed_length):
                packed, plain = problem, main
                if main.packed_length:
                    packed, plain = main, problem
                raise UserError(
                    f"--mix: {packed.full_name} is packed and {plain.full_name} is not: pack both"
                    " or neither"
                )

    def records(self) -> list[Record]:
        """What rebuilds the parts (JSON-able); see `from_records`."""
        return [part.record for part in self.parts]

    def make_data(self, data_dir: str, tmp_dir: str) -> None:
        """Makes what is missing of the parts, in the main problem's vocabularies.

        Raises:
            UserError: a part's data is there in another vocabulary (both sha256 are shown), or
                its sources are missing.
        """
        for part in self.parts:
            problem = part.problem
            self._share_vocabularies(problem, data_dir)
            if not problem.is_generated(data_dir):
                problem.generate_data(data_dir, tmp_dir)

    def _share_vocabularies(self, problem: Problem, data_dir: str) -> None:
        ours, theirs = self.main.vocab_files(), problem.vocab_files()
        for side in SIDES:
            our_name, their_name = ours[side], theirs[side]
            if our_name is None or their_name is None:
                if our_name is their_name is None:
                    continue
                raise UserError(
                    f"--mix: the {side} of {problem.full_name} and of {self.main.full_name} are"
                    f" not ids of one kind ({their_name or 'no vocabulary file'} and"
                    f" {our_name or 'no vocabulary file'})"
                )
            our_file = self.main.find_vocab_file(data_dir, our_name)
            their_file = problem.find_vocab_file(data_dir, their_name)
            if not their_file.is_file() and not problem.is_generated(data_dir):
                temporary = their_file.with_name(f".{their_file.name}.tmp")
                shutil.copyfile(our_file, temporary)
                temporary.replace(their_file)
            if not their_file.is_file():
                raise UserError(f"{their_file}: the vocabulary of {problem.full_name} is missing")
            ours_sha, theirs_sha = _sha256(our_file), _sha256(their_file)
            if ours_sha != theirs_sha:
                raise UserError(
                    f"--mix: {problem.full_name} has another vocabulary of the {side} than"
                    f" {self.main.full_name}, so its ids mean other words: {their_file} has the"
                    f" sha256 {theirs_sha}, {our_file} {ours_sha}; make the data of"
                    f" {problem.name} in a --data_dir that holds the vocabulary of"
                    f" {self.main.name} alone"
                )

    def weighted(self, data_dir: str) -> list[tuple[Problem, float]]:
        """The parts with their numbers of sentences for each sentence of the main problem."""
        if not self.parts:
            return []
        size = _records(self.main, data_dir)
        return [
            (part.problem, _ratio(part.weight, size, part.problem, data_dir)) for part in self.parts
        ]

    def shares(self, data_dir: str) -> list[Share]:
        """How much of the training each part is, the main problem first; [] without parts."""
        if not self.parts:
            return []
        parts = [(self.main, 1.0), *self.weighted(data_dir)]
        weights = ["1", *(part.weight for part in self.parts)]
        sizes = [_records(problem, data_dir) for problem, _ in parts]
        drawn = sum(ratio for _, ratio in parts)
        tokens = [ratio * _mean_target_tokens(problem, data_dir) for problem, ratio in parts]
        return [
            Share(
                name=problem.full_name,
                weight=weight,
                records=size,
                sentence_share=ratio / drawn,
                token_share=part_tokens / sum(tokens),
                passes=ratio * sizes[0] / size,
            )
            for (problem, ratio), weight, size, part_tokens in zip(
                parts, weights, sizes, tokens, strict=True
            )
        ]


def records_from_flags(
    mix: str, sources: str = "", targets: str = "", weights: str = ""
) -> list[Record]:
    """What the flags `--mix`, `--mix_source`, `--mix_target` and `--mix_weights` ask for.

    Args:
        mix: problems with weights, `name=0.5,other=2x,third`.
        sources, targets: parallel files, commas between.
        weights: one for each pair of files; "" for 1x each.

    Raises:
        UserError: a weight is none, or there are not as many of the one as of the other.
    """
    records: list[Record] = []
    for piece in filter(None, mix.split(",")):
        name, equals, weight = piece.partition("=")
        if equals and not weight:
            raise UserError(f"--mix={mix}: {name} has no weight behind the =")
        _parse_weight(weight or AS_JOINED)
        records.append({"problem": name, "options": {}, "weight": weight or AS_JOINED})
    source_files, target_files, file_weights = (
        text.split(",") if text else [] for text in (sources, targets, weights)
    )
    if len(source_files) != len(target_files):
        raise UserError(
            f"--mix_source names {len(source_files)} files and --mix_target {len(target_files)}:"
            " each source file has one target file"
        )
    if file_weights and len(file_weights) != len(source_files):
        raise UserError(
            f"--mix_weights={weights} has {len(file_weights)} weights for {len(source_files)} pairs"
            " of files: give one for each"
        )
    for number, (source, target) in enumerate(zip(source_files, target_files, strict=True)):
        weight = file_weights[number] if file_weights else AS_JOINED
        _parse_weight(weight)
        files = {"source": str(Path(source).resolve()), "target": str(Path(target).resolve())}
        records.append({**files, "weight": weight})
    return records


def from_records(
    main: Problem, records: Sequence[Mapping[str, Any]], make: Callable[..., Problem]
) -> Mixture:
    """The mixture that records describe.

    Args:
        main: the main problem.
        records: `{"problem", "options", "weight"}` or `{"source", "target", "weight"}`.
        make: name and options → problem (`registry.problem`).

    Raises:
        UserError: a problem is not known, or the parts do not fit together.
    """
    parts = []
    for record in records:
        if "source" in record:
            problem: Problem = ParallelFiles(main, record["source"], record["target"])
        else:
            problem = make(record["problem"], **record["options"])
        parts.append(Part(problem, record["weight"], dict(record)))
    return Mixture(main, parts)


def describe(records: Sequence[Mapping[str, Any]]) -> str:
    """The records in one line, for messages."""
    names = (record.get("problem") or record["source"] for record in records)
    pairs = zip(names, records, strict=True)
    return ", ".join(f"{name}={record['weight']}" for name, record in pairs) or "nothing"


def _parse_weight(text: str) -> tuple[float, bool]:
    """(number, whether it counts passes)."""
    counts_passes = text.endswith("x")
    try:
        number = float(text.removesuffix("x"))
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        raise UserError(
            f"{text!r} is not a weight of a corpus that is mixed in: write a number above 0, the"
            " sentences for each one of the first problem, or a number with x, the times it is"
            " read for each time the first problem is"
        )
    return number, counts_passes


def _ratio(weight: str, main_records: int, problem: Problem, data_dir: str) -> float:
    number, counts_passes = _parse_weight(weight)
    return number * _records(problem, data_dir) / main_records if counts_passes else number


def _records(problem: Problem, data_dir: str) -> int:
    """Records of the training split."""
    if not problem.packed_length:
        manifest = generation.read_manifest(data_dir, problem.dataset_filename()) or {}
        counted = manifest.get("splits", {}).get(DatasetSplit.TRAIN, {}).get("examples")
        if counted and getattr(problem, "is_generate_per_split", False):
            return int(counted)
    paths = problem.shard_paths(data_dir, DatasetSplit.TRAIN)
    return max(1, sum(tfrecord.count_records(path) for path in paths))


def _mean_target_tokens(problem: Problem, data_dir: str) -> float:
    paths = problem.shard_paths(data_dir, DatasetSplit.TRAIN)
    lengths = list(shard_lengths(paths, _MEASURED_RECORDS))
    side = SIDES.index(problem.oriented({"inputs": "inputs", "targets": "targets"})["targets"])
    return sum(pair[side] for pair in lengths) / max(1, len(lengths))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
