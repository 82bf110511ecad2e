"""Made-up tasks on sequences of symbols: does a model learn at all?"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.data.problem import DatasetSplit
from keras_transformer.data.text_problem import Text2TextProblem, VocabType
from keras_transformer.registry import register_problem
from keras_transformer.text.lines import write_lines
from keras_transformer.text.reserved_tokens import RESERVED_TOKENS

SYMBOLS = [str(number) for number in range(20)]
SHORTEST, LONGEST = 4, 12  # symbols in a sequence
EXAMPLES = {DatasetSplit.TRAIN: 10_000, DatasetSplit.EVAL: 500, DatasetSplit.TEST: 500}
SEED = 20170612


class _Algorithmic(Text2TextProblem):
    """Inputs are drawn evenly; no sequence of one split occurs in another."""

    vocab_type = VocabType.TOKEN

    @property
    def dataset_splits(self) -> list[dict[str, Any]]:
        return [{"split": split, "shards": 1} for split in EXAMPLES]

    def answer(self, symbols: Sequence[str]) -> Sequence[str]:
        """The targets for a sequence of symbols."""
        raise NotImplementedError

    def get_or_create_vocab(self, data_dir: str, tmp_dir: str) -> None:
        path = Path(data_dir, self.vocab_filename)
        if not path.is_file():
            write_lines(path, [*RESERVED_TOKENS, *SYMBOLS])

    def generate_samples(
        self, data_dir: str, tmp_dir: str, dataset_split: str
    ) -> Iterator[dict[str, str]]:
        generator = random.Random(SEED)
        seen: set[tuple[str, ...]] = set()
        for split, count in EXAMPLES.items():
            for _ in range(count):
                symbols = _draw(generator)
                while symbols in seen:
                    symbols = _draw(generator)
                seen.add(symbols)
                if split == dataset_split:
                    yield {"inputs": " ".join(symbols), "targets": " ".join(self.answer(symbols))}
            if split == dataset_split:
                return


def _draw(generator: random.Random) -> tuple[str, ...]:
    length = generator.randint(SHORTEST, LONGEST)
    return tuple(generator.choice(SYMBOLS) for _ in range(length))


@register_problem
class AlgorithmicCopy(_Algorithmic):
    """Repeats 4 to 12 of 20 symbols."""

    def answer(self, symbols: Sequence[str]) -> Sequence[str]:
        return symbols


@register_problem
class AlgorithmicReverse(_Algorithmic):
    """Repeats 4 to 12 of 20 symbols backwards."""

    def answer(self, symbols: Sequence[str]) -> Sequence[str]:
        return symbols[::-1]


@register_problem
class AlgorithmicSort(_Algorithmic):
    """Sorts 4 to 12 of 20 symbols by their number."""

    def answer(self, symbols: Sequence[str]) -> Sequence[str]:
        return sorted(symbols, key=int)
