"""The embedded sample: LibreOffice's help, English and German (see `data/NOTICE.md`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_transformer.data import parallel_text
from keras_transformer.data.problem import DatasetSplit
from keras_transformer.data.text_problem import Text2TextProblem
from keras_transformer.registry import register_problem

FOLDER = Path(__file__).parent / "data"


@register_problem
class SampleEnde(Text2TextProblem):
    """English to German on 19,146 sentences of LibreOffice's help; no download."""

    approx_vocab_size = 2**12

    @property
    def dataset_splits(self) -> list[dict[str, Any]]:
        return [
            {"split": DatasetSplit.TRAIN, "shards": 4},
            {"split": DatasetSplit.EVAL, "shards": 1},
            {"split": DatasetSplit.TEST, "shards": 1},
        ]

    def generate_samples(
        self, data_dir: str, tmp_dir: str, dataset_split: str
    ) -> Iterator[dict[str, str]]:
        stem = FOLDER / f"libreoffice-help.{dataset_split}"
        for source, target in parallel_text.read_pairs(f"{stem}.en.gz", f"{stem}.de.gz"):
            yield {"inputs": source, "targets": target}
