"""A split of a problem's data: three files, outputs, references and inputs, line by line.

As T2T's `decode_from_dataset`: the text is decoded from the ids of the shards, so references are
what the encoder makes of them. Lines come in the order of the shards (T2T: of its length buckets).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from keras_transformer.decoding.constraints import END_OF_SENTENCE
from keras_transformer.decoding.output_names import beside
from keras_transformer.decoding.translator import Translator
from keras_transformer.text.lines import write_lines


@dataclass(frozen=True)
class SplitFiles:
    """Names of the three files."""

    outputs: str
    targets: str
    inputs: str


def write_inputs_and_targets(
    translator: Translator,
    examples: Iterable[Mapping[str, list[int]]],
    outputs: str,
    num_samples: int = -1,
) -> SplitFiles:
    """Writes the plain text of a split beside the output file to come.

    Args:
        translator: whose encoders decode the ids.
        examples: `inputs` and `targets` as ids; those whose inputs are all padding are left out.
        outputs: name of the output file; the two others have `.inputs` and `.targets` instead of
            its last dot-part.
        num_samples: stop after so many; -1 for all.
    """
    files = SplitFiles(outputs, beside(outputs, "targets"), beside(outputs, "inputs"))
    most = None if num_samples < 0 else num_samples
    inputs, targets = [], []
    full = (features for features in examples if any(features["inputs"]))
    for features in itertools.islice(full, most):
        inputs.append(_text(translator.source_encoder, features["inputs"]))
        targets.append(_text(translator.target_encoder, features["targets"]))
    write_lines(files.inputs, inputs)
    write_lines(files.targets, targets)
    return files


def _text(encoder: Any, ids: list[int]) -> str:
    said = ids[: ids.index(END_OF_SENTENCE)] if END_OF_SENTENCE in ids else ids
    text: str = encoder.decode([i for i in said if i])
    return text.replace("\n", " ").replace("\r", " ")
