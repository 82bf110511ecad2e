"""The embedded parsing sample: made-up sentences with made-up trees, for trying everything out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from keras_transformer.data.parsing_problem import ParsingProblem
from keras_transformer.data.problem import DatasetSplit
from keras_transformer.registry import register_problem
from keras_transformer.text.trees import Tree

from .grammar import made_up_trees

_SEEDS = {DatasetSplit.TRAIN: 1, DatasetSplit.EVAL: 2, DatasetSplit.TEST: 3}


@register_problem
class SampleParsing(ParsingProblem):
    """Parsing of made-up sentences; trees drawn from a hand-written grammar, no treebank.

    No treebank may be handed on, so the sentences come from `grammar.py`: they are grammatical
    nonsense, and a score on them says that the machinery works, not how well English is parsed.
    No training sentence is a sentence of dev or test. The same data is made everywhere.
    """

    approx_vocab_size = 2**11
    train_trees = 40_000
    evaluation_trees = 500
    max_samples_for_vocab = 10_000

    @property
    def dataset_splits(self) -> list[dict[str, Any]]:
        return [
            {"split": DatasetSplit.TRAIN, "shards": 4},
            {"split": DatasetSplit.EVAL, "shards": 1},
            {"split": DatasetSplit.TEST, "shards": 1},
        ]

    def source_fingerprint(self) -> dict[str, Any]:
        return {"grammar": "made-up trees", "train_trees": self.train_trees}

    def trees(self, split: str, tmp_dir: str) -> Iterator[Tree]:
        del tmp_dir
        if split != DatasetSplit.TRAIN:
            return islice(made_up_trees(_SEEDS[split]), self.evaluation_trees)
        held_out = {
            tuple(tree.words())
            for name in (DatasetSplit.EVAL, DatasetSplit.TEST)
            for tree in self.trees(name, "")
        }
        new = (t for t in made_up_trees(_SEEDS[split]) if tuple(t.words()) not in held_out)
        return islice(new, self.train_trees)

    def label_trees(self, tmp_dir: str) -> Iterator[Tree]:
        return islice(self.trees(DatasetSplit.TRAIN, tmp_dir), self.max_samples_for_vocab)
