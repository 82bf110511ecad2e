"""A split of a problem's data: three files, outputs, references and inputs, line by line.

As T2T's `decode_from_dataset`: the text is decoded from the ids of the shards, so references are
what the encoder makes of them. Lines come in the order of the shards (T2T: of its length buckets).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass

from keras_transformer.data import example_format, tfrecord
from keras_transformer.data.problem import Problem
from keras_transformer.decoding.constraints import END_OF_SENTENCE
from keras_transformer.decoding.output_names import beside
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.text.lines import write_lines


@dataclass(frozen=True)
class SplitFiles:
    """Names of the three files."""

    outputs: str
    targets: str
    inputs: str


def write_inputs_and_targets(
    translator: Translator,
    problem: Problem,
    data_dir: str | os.PathLike[str],
    split: str,
    outputs: str,
    num_samples: int = -1,
) -> SplitFiles:
    """Writes the plain text of a split beside the output file to come.

    Args:
        translator: whose encoders decode the ids.
        problem: not a packed one.
        data_dir: where the shards lie.
        split: `dev` or `test`.
        outputs: name of the output file; the two others have `.inputs` and `.targets` instead of
            its last dot-part.
        num_samples: stop after so many; -1 for all.

    Raises:
        UserError: no such shards, or a packed problem.
    """
    if problem.packed_length:
        raise UserError(
            f"{problem.full_name} is packed: several sentences in a row cannot be decoded; name the"
            " problem it was packed from"
        )
    files = SplitFiles(outputs, beside(outputs, "targets"), beside(outputs, "inputs"))
    most = None if num_samples < 0 else num_samples
    inputs, targets = [], []
    for features in itertools.islice(_examples(problem, os.fspath(data_dir), split), most):
        inputs.append(_text(translator.source_encoder, features["inputs"]))
        targets.append(_text(translator.target_encoder, features["targets"]))
    write_lines(files.inputs, inputs)
    write_lines(files.targets, targets)
    return files


def _examples(problem: Problem, data_dir: str, split: str) -> Iterator[dict[str, list[int]]]:
    for path in problem.shard_paths(data_dir, split):
        for record in tfrecord.read_records(path):
            features = problem.oriented(example_format.decode_example(record))
            if any(features["inputs"]):
                yield features


def _text(encoder: object, ids: list[int]) -> str:
    said = ids[: ids.index(END_OF_SENTENCE)] if END_OF_SENTENCE in ids else ids
    text: str = encoder.decode([i for i in said if i])  # type: ignore[attr-defined]
    return text.replace("\n", " ").replace("\r", " ")
