"""More parallel text for a problem, in its vocabulary: back-translations, another corpus.

Made for `mixing`: it has a training split only, and ids that mean the same as the problem's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_transformer.data import parallel_text
from keras_transformer.data.problem import DatasetSplit, Encoder, Problem
from keras_transformer.data.text_problem import Text2TextProblem
from keras_transformer.errors import UserError


class ParallelFiles(Text2TextProblem):
    """Two files, line n of the one belonging to line n of the other, beside a main problem.

    Args:
        main: whose vocabularies, direction and length of packed rows are taken.
        source, target: the files, in the main problem's direction; plain or `.gz`, UTF-8.

    Raises:
        UserError: the main problem's text is not what its encoders read (a parsing problem).
    """

    def __init__(self, main: Problem, source: str, target: str):
        super().__init__(main.was_reversed, main.was_copy)
        if type(main).prepare_input is not Problem.prepare_input:
            raise UserError(
                f"--mix_source={source}: problem {main.full_name} prepares its text in a way of"
                " its own, so plain files cannot be mixed in; for trees see --machine_trees"
            )
        self._main = main
        first, second = (target, source) if main.was_reversed else (source, target)
        self._files = {"inputs": first, "targets": second}
        stem = re.sub(r"\W+", "_", Path(self._files["inputs"]).name)
        # The class's own name is one for all pairs of files.
        self.name = f"{main.dataset_filename()}_mix_{stem}"
        self.packed_length = main.packed_length
        self.packed_spacing = main.packed_spacing
        self.batch_size_multiplier = main.batch_size_multiplier

    @property
    def dataset_splits(self) -> list[dict[str, Any]]:
        return [{"split": DatasetSplit.TRAIN, "shards": 10}]

    def source_fingerprint(self) -> dict[str, Any]:
        """Size and CRC-32 of both files; {} if one is not here."""
        if not all(Path(name).is_file() for name in self._files.values()):
            return {}
        return {side: parallel_text.size_and_crc(name) for side, name in self._files.items()}

    def prepare_sources(self, data_dir: str, tmp_dir: str) -> None:
        for name in self._files.values():
            if not Path(name).is_file():
                raise UserError(f"{name}: there is no such file to mix in")
        parallel_text.require_same_length(self._files["inputs"], self._files["targets"])

    def get_or_create_vocab(self, data_dir: str, tmp_dir: str) -> None:
        """Does nothing: the vocabularies are the main problem's."""

    def feature_vocab_files(self) -> dict[str, str | None]:
        return dict(self._main.feature_vocab_files())

    def find_vocab_file(self, folder: Any, name: str) -> Path:
        return self._main.find_vocab_file(folder, name)

    def load_encoder(self, side: str, path: str | None) -> Encoder:
        return self._main.load_encoder(side, path)

    def feature_encoders(self, data_dir: str) -> dict[str, Encoder]:
        return dict(self._main.feature_encoders(data_dir))

    def generate_samples(
        self, data_dir: str, tmp_dir: str, dataset_split: str
    ) -> Iterator[dict[str, str]]:
        for inputs, targets in parallel_text.read_pairs(
            self._files["inputs"], self._files["targets"]
        ):
            yield {"inputs": inputs, "targets": targets}
