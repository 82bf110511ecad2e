"""What is to be learnt: the base class of every problem.

A problem knows where its text comes from, how it becomes ids and how the files on disk are called.
It never knows layers. Class and method names follow T2T 1.15 (`data_generators/problem.py`), so
that problems written for it port by changing their imports.

A problem has two sides, `inputs` and `targets`. The endings `_rev` and `_copy` of a name turn the
sides round or copy one to the other *after* reading; the files and vocabularies are those of the
plain problem. Everything that has sides (features, vocabularies, space ids, plain text) goes
through one method, `Problem.oriented`, so that no part can be forgotten.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from keras_transformer.data import shards
from keras_transformer.errors import UserError

T = TypeVar("T")


class DatasetSplit:
    """Names of the splits, as they stand in file names."""

    TRAIN = "train"
    EVAL = "dev"
    TEST = "test"


class Encoder(Protocol):
    """Text to ids and back; the classes of `keras_transformer.text`."""

    @property
    def vocab_size(self) -> int: ...

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Any) -> str: ...


class Problem:
    """Base class of every problem.

    Args:
        was_reversed: the name ended in `_rev`: inputs and targets change places after reading.
        was_copy: the name ended in `_copy`: inputs are copied to targets (after reversing).

    Attributes:
        name: T2T's registered name without `_rev` and `_copy`; file names are made from it. The
            class name in snake case unless `register_problem("…")` gave another.
        options: what besides the name rebuilds the problem (JSON-able); stored with a run.
        space_ids: rows of T2T's table of target spaces, of the plain direction
            (T2T `SpaceID`; 0 = generic, what every translation problem has from 1.5.2 on).
        loss_multiplier: factor on the loss; only some of T2T's parsing problems have one.
        batch_size_multiplier: T2T's factor on bucket boundaries and `max_length`.
        packed_length: subtokens in a row that holds several examples; None = one example a row.
        decode_defaults: options of decoding whose defaults are the problem's own, by the names of
            `decoding.options.DecodeOptions`: beam_size, alpha, extra_length, …
        scoring_search: options of the search whose outputs `score_outputs` gets in training.
        best_figure: name of the figure of `score_outputs` by which a checkpoint is the best.
    """

    name: str = "problem"
    space_ids: Mapping[str, int] = {"inputs": 0, "targets": 0}
    loss_multiplier: float = 1.0
    batch_size_multiplier: int = 1
    packed_length: int | None = None
    packed_spacing: int = 0
    decode_defaults: Mapping[str, Any] = {}
    scoring_search: Mapping[str, Any] = {"beam_size": 4, "alpha": 0.6}
    best_figure: str = "bleu_sacrebleu"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            words = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", cls.__name__)
            cls.name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).lower()

    def __init__(self, was_reversed: bool = False, was_copy: bool = False):
        self.was_reversed = was_reversed
        self.was_copy = was_copy
        self.options: dict[str, Any] = {}

    # ---- direction ------------------------------------------------------------------------

    @property
    def full_name(self) -> str:
        """The name that makes this very problem, `_rev` and `_copy` included."""
        return self.name + "_rev" * self.was_reversed + "_copy" * self.was_copy

    def oriented(self, sides: Mapping[str, T]) -> dict[str, T]:
        """Turns what belongs to `inputs` and `targets` as the problem's name says.

        Args:
            sides: anything keyed by `inputs…` and `targets…` in the plain direction; keys such as
                `inputs_position` move with their side, other keys stay.
        """
        result = dict(sides)
        if self.was_reversed:
            result = {_other_side(key): value for key, value in result.items()}
        if self.was_copy:
            for key in [key for key in result if key.startswith("inputs")]:
                result[_other_side(key)] = result[key]
        return result

    @property
    def input_space_id(self) -> int:
        """Row of the inputs in T2T's table of spaces, in the problem's direction."""
        return self.oriented(self.space_ids)["inputs"]

    @property
    def target_space_id(self) -> int:
        """Row of the targets in T2T's table of spaces, in the problem's direction."""
        return self.oriented(self.space_ids)["targets"]

    # ---- vocabularies ---------------------------------------------------------------------

    def feature_encoders(self, data_dir: str) -> Mapping[str, Encoder]:
        """Encoders of the plain direction; what a problem overrides (T2T's name)."""
        raise NotImplementedError

    def feature_vocab_files(self) -> Mapping[str, str | None]:
        """Vocabulary file names of the plain direction, None for an encoder without a file."""
        return {"inputs": None, "targets": None}

    def load_encoder(self, side: str, path: str | None) -> Encoder:
        """The encoder of one side of the plain direction, from a vocabulary file anywhere."""
        raise NotImplementedError

    def encoders(self, data_dir: str) -> dict[str, Encoder]:
        """The two encoders in the problem's direction.

        Args:
            data_dir: the folder of the vocabulary files (a data or a run directory).

        Raises:
            UserError: a vocabulary file is missing or cannot be read.
        """
        return self.oriented(self.feature_encoders(data_dir))

    def encoders_from_files(self, vocab_paths: Mapping[str, str | None]) -> dict[str, Encoder]:
        """The two encoders in the problem's direction, from files of any name and place.

        Args:
            vocab_paths: side in the problem's direction → vocabulary file; None for an encoder
                that has no file.

        Raises:
            UserError: a vocabulary file is missing or cannot be read.
        """
        names = {side: Path(path).name if path else None for side, path in vocab_paths.items()}
        folders = {str(Path(path).parent) for path in vocab_paths.values() if path}
        if names == self.vocab_files() and len(folders) <= 1:
            # A problem may build encoders of its own from its data directory.
            return self.encoders("".join(folders))
        plain_side = self.oriented({"inputs": "inputs", "targets": "targets"})
        source = self.load_encoder(plain_side["inputs"], vocab_paths["inputs"])
        if vocab_paths["targets"] == vocab_paths["inputs"]:
            return {"inputs": source, "targets": source}
        target = self.load_encoder(plain_side["targets"], vocab_paths["targets"])
        return {"inputs": source, "targets": target}

    def vocab_files(self) -> dict[str, str | None]:
        """Vocabulary file names in the problem's direction; None for an encoder without one."""
        return self.oriented(self.feature_vocab_files())

    def older_vocab_files(self, name: str) -> Sequence[str]:
        """Names that the vocabulary file `name` bore in earlier releases of T2T, newest first."""
        del name
        return ()

    def find_vocab_file(self, folder: str | os.PathLike[str], name: str) -> Path:
        """Path of a vocabulary file in a folder, under an older name if only that is there.

        If neither is there it is the path it should have.
        """
        for each in (name, *self.older_vocab_files(name)):
            if Path(folder, each).is_file():
                return Path(folder, each)
        return Path(folder, name)

    def companion_files(self) -> list[str]:
        """Names of files that decoding needs besides the vocabularies and finds beside them.

        They are copied into a run directory if the data directory has them.
        """
        return []

    # ---- files ----------------------------------------------------------------------------

    @property
    def dataset_splits(self) -> list[dict[str, Any]]:
        """T2T's table of splits: `[{"split": "train", "shards": 100}, …]`."""
        return [
            {"split": DatasetSplit.TRAIN, "shards": 100},
            {"split": DatasetSplit.EVAL, "shards": 1},
        ]

    def dataset_filename(self) -> str:
        """First part of every file name (T2T's method)."""
        return self.name

    def generate_data(self, data_dir: str, tmp_dir: str, task_id: int = -1) -> None:
        """Makes the vocabulary and the shards, unless they are there already."""
        raise NotImplementedError

    def is_generated(self, data_dir: str) -> bool:
        """True if every shard of every split is there and no generation was cut off.

        A directory made by T2T counts as generated when each split's set of shards is complete.
        """
        return shards.is_complete(
            data_dir, self.dataset_filename(), [str(row["split"]) for row in self.dataset_splits]
        )

    def shard_paths(self, data_dir: str, split: str) -> list[str]:
        """Paths of a split's shards in the order of their numbers.

        Raises:
            UserError: there are none, a shard of the set is missing, or two sets lie there.
        """
        return shards.find(data_dir, self.dataset_filename(), split)

    def training_filepaths(self, data_dir: str, num_shards: int, shuffled: bool) -> list[str]:
        """File names of the training shards to be written (T2T's method)."""
        return shards.paths(data_dir, self.dataset_filename(), "train", num_shards, shuffled)

    def dev_filepaths(self, data_dir: str, num_shards: int, shuffled: bool) -> list[str]:
        """File names of the development shards to be written (T2T's method)."""
        return shards.paths(data_dir, self.dataset_filename(), "dev", num_shards, shuffled)

    def test_filepaths(self, data_dir: str, num_shards: int, shuffled: bool) -> list[str]:
        """File names of the test shards to be written (T2T's method)."""
        return shards.paths(data_dir, self.dataset_filename(), "test", num_shards, shuffled)

    # ---- plain text -----------------------------------------------------------------------

    def split_samples(
        self, split: str, data_dir: str = "", tmp_dir: str = ""
    ) -> Iterator[dict[str, str]]:
        """Text pairs of a split, plain direction, in corpus order where there is one."""
        raise NotImplementedError

    def source_lines(self, split: str, data_dir: str = "", tmp_dir: str = "") -> Iterator[str]:
        """Plain text of the inputs of a split, one sentence at a time.

        Args:
            split: `train`, `dev` or `test`.
            data_dir: where the shards and vocabularies lie (used when no corpus can be read).
            tmp_dir: where the corpora lie.
        """
        for sample in self.split_samples(split, data_dir, tmp_dir):
            yield self.oriented(sample)["inputs"]

    def reference_lines(self, split: str, data_dir: str = "", tmp_dir: str = "") -> Iterator[str]:
        """Plain text of the targets of a split, in the order of `source_lines`."""
        for sample in self.split_samples(split, data_dir, tmp_dir):
            yield self.oriented(sample)["targets"]

    def prepare_input(self, text: str) -> str:
        """A line to be decoded → the text the source encoder reads; a parsing problem tokenizes
        here."""
        return text

    def finish_output(self, text: str, source_text: str) -> str:
        """Decoded text → the line to be written; a parsing problem closes its brackets here."""
        del source_text
        return text

    @property
    def output_has_lines(self) -> bool:
        """Whether an output may have several lines, all but the first indented; else it is written
        as one, whatever it is."""
        return False

    def count_output(self, text: str, source_text: str) -> None:
        """Told once of every sentence, about its best output as decoded; a parsing problem counts
        its repairs here. Several threads may call it."""

    def decode_report(self) -> str:
        """What `count_output` has found, for the end of a decode; "" for nothing."""
        return ""

    def scoring_lines(
        self, split: str, data_dir: str = "", tmp_dir: str = ""
    ) -> Iterator[tuple[str, str]]:
        """Sentences of a split to be decoded, each with what `score_outputs` compares its output
        with; arguments as for `source_lines`."""
        for sample in self.split_samples(split, data_dir, tmp_dir):
            pair = self.oriented(sample)
            yield pair["inputs"], pair["targets"]

    def score_outputs(self, outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
        """Figures of finished outputs against the references of `scoring_lines`, line by line;
        larger is better. BLEU, 0 to 100: sacreBLEU's for papers, T2T's for its curves."""
        from keras_transformer.scoring import bleu

        return {
            f"bleu_{measure}": bleu.score(list(outputs), list(references), measure).score
            for measure in ("sacrebleu", "t2t_uncased")
        }

    def decode_settings(self) -> dict[str, Any]:
        """Settings of `prepare_input` and `finish_output`, each an attribute of the problem."""
        return {}

    def set_decode_settings(self, **changes: Any) -> None:
        """Changes what `decode_settings` names.

        Raises:
            UserError: the problem has no such setting.
        """
        for name, value in changes.items():
            if name not in self.decode_settings():
                raise UserError(f"problem {self.full_name} has no setting {name}: leave it out")
            setattr(self, name, value)

    def output_grammar(self, target_encoder: Any) -> Any:
        """What outputs must look like: a `decoding.constraints.OutputGrammar` over the ids of the
        target encoder, for constrained decoding; None where any text is an output.

        Raises:
            UserError: the encoder's ids cannot be followed.
        """
        del target_encoder
        return None

    def text_steps_in_graph(self) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]] | None:
        """`prepare_input` and `finish_output` on string tensors [N], for exported models.

        A problem that overrides those two overrides this one too; None, which is also the answer
        for a problem that does not, leaves an exported model without signatures for text.
        """
        own, plain = type(self), Problem
        if (own.prepare_input, own.finish_output) != (plain.prepare_input, plain.finish_output):
            return None
        return (lambda texts: texts), (lambda texts, source_texts: texts)


def _other_side(key: str) -> str:
    if key.startswith("inputs"):
        return "targets" + key[len("inputs") :]
    if key.startswith("targets"):
        return "inputs" + key[len("targets") :]
    return key
