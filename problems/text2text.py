"""`text2text`: a user's own parallel files, without writing a class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from keras_transformer.data import parallel_text
from keras_transformer.data.problem import DatasetSplit
from keras_transformer.data.text_problem import Text2TextProblem
from keras_transformer.errors import UserError
from keras_transformer.registry import register_problem
from keras_transformer.text.reserved_tokens import RESERVED_TOKENS
from keras_transformer.text.subword_encoder import SubwordTextEncoder

DEFAULT_VOCAB_SIZE = 2**13


@register_problem("text2text")
class Text2Text(Text2TextProblem):
    """Your own parallel text: --train_source, --train_target, --dev_source, --dev_target.

    Line n of the source file belongs to line n of the target file; plain or `.gz`, UTF-8.

    Args:
        train_source, train_target, dev_source, dev_target: the files.
        test_source, test_target: a test set to decode and score; not needed to train.
        vocab_size: wanted size of the subword vocabulary learnt from the training files
            (default 8,192).
        vocab_file: a vocabulary to use instead, T2T's format, one for both sides.
        source_vocab_file, target_vocab_file: the same for each side.
        separate_vocabularies: learn one vocabulary for each side.
        utf8_errors: `strict` stops at bytes that are not UTF-8; `replace` reads U+FFFD for them
            and logs their number.
        packed_length: pack several sentences into rows of so many subtokens (0: one a row).
    """

    def __init__(
        self,
        was_reversed: bool = False,
        was_copy: bool = False,
        train_source: str = "",
        train_target: str = "",
        dev_source: str = "",
        dev_target: str = "",
        test_source: str = "",
        test_target: str = "",
        vocab_size: int = 0,
        vocab_file: str = "",
        source_vocab_file: str = "",
        target_vocab_file: str = "",
        separate_vocabularies: bool = False,
        utf8_errors: Literal["strict", "replace"] = "strict",
        packed_length: int = 0,
    ):
        super().__init__(was_reversed, was_copy)
        if bool(source_vocab_file) != bool(target_vocab_file):
            raise UserError(
                "--source_vocab_file and --target_vocab_file belong together; for one vocabulary"
                " for both sides use --vocab_file"
            )
        given = bool(vocab_file) + bool(source_vocab_file) + bool(vocab_size)
        if given > 1:
            raise UserError(
                "--vocab_size learns a vocabulary, --vocab_file (or --source_vocab_file with"
                " --target_vocab_file) gives one: use one of these"
            )
        if vocab_file and separate_vocabularies:
            raise UserError("--vocab_file is one vocabulary for both sides; it cannot be separate")
        if utf8_errors not in ("strict", "replace"):
            raise UserError(f"--utf8_errors={utf8_errors}: it must be strict or replace")
        self._utf8_errors = utf8_errors
        self.packed_length = packed_length or None
        self._files = {
            "train": (train_source, train_target),
            "dev": (dev_source, dev_target),
            "test": (test_source, test_target),
        }
        self._vocab_files = (
            {"inputs": source_vocab_file, "targets": target_vocab_file}
            if source_vocab_file
            else {"inputs": vocab_file, "targets": vocab_file}
        )
        self.separate_vocabularies = separate_vocabularies or bool(source_vocab_file)
        self.approx_vocab_size = vocab_size or DEFAULT_VOCAB_SIZE
        options = {
            "train_source": _absolute(train_source),
            "train_target": _absolute(train_target),
            "dev_source": _absolute(dev_source),
            "dev_target": _absolute(dev_target),
            "test_source": _absolute(test_source),
            "test_target": _absolute(test_target),
            "vocab_size": vocab_size,
            "vocab_file": _absolute(vocab_file),
            "source_vocab_file": _absolute(source_vocab_file),
            "target_vocab_file": _absolute(target_vocab_file),
            "separate_vocabularies": separate_vocabularies,
            "utf8_errors": "" if utf8_errors == "strict" else utf8_errors,
            "packed_length": packed_length,
        }
        self.options = {name: value for name, value in options.items() if value}

    @property
    def dataset_splits(self) -> list[dict[str, Any]]:
        return [
            {"split": DatasetSplit.TRAIN, "shards": 10},
            {"split": DatasetSplit.EVAL, "shards": 1},
        ]

    def dataset_filename(self) -> str:
        """`text2text`, with T2T's ending `_packed` for packed rows."""
        return self.name + "_packed" * bool(self.packed_length)

    def source_fingerprint(self) -> dict[str, Any]:
        """Size and CRC-32 of each training and development file; {} if one is not here."""
        names = [name for split in ("train", "dev") for name in self._files[split]]
        names += sorted({name for name in self._vocab_files.values() if name})
        if not all(name and Path(name).is_file() for name in names):
            return {}
        keys = ["train_source", "train_target", "dev_source", "dev_target"]
        keys += ["source_vocab_file", "target_vocab_file"][: len(names) - len(keys)]
        sources: dict[str, Any] = {
            key: parallel_text.size_and_crc(name) for key, name in zip(keys, names, strict=True)
        }
        sources["separate_vocabularies"] = self.separate_vocabularies
        if not any(self._vocab_files.values()):
            sources["vocab_size"] = self.approx_vocab_size
        if self.packed_length:
            sources["packed_length"] = self.packed_length
        return sources

    def prepare_sources(self, data_dir: str, tmp_dir: str) -> None:
        missing = []
        for split in ("train", "dev"):
            for side, name in zip(("source", "target"), self._files[split], strict=True):
                if not name:
                    missing.append(f"--{split}_{side} is not given")
                elif not Path(name).is_file():
                    missing.append(f"--{split}_{side}={name}: there is no such file")
        for name in sorted({name for name in self._vocab_files.values() if name}):
            if not Path(name).is_file():
                missing.append(f"the vocabulary file {name} does not exist")
        if missing:
            raise UserError(
                "problem text2text needs parallel files for training and development: "
                + "; ".join(missing)
            )
        for split in ("train", "dev"):
            parallel_text.require_same_length(*self._files[split])

    def get_or_create_vocab(self, data_dir: str, tmp_dir: str) -> None:
        for side, file_name in self.feature_vocab_files().items():
            given = self._vocab_files[side]
            if given and file_name and not Path(data_dir, file_name).is_file():
                encoder = SubwordTextEncoder.load(given)
                _require_reserved_tokens(encoder, given)
                encoder.save(Path(data_dir, file_name))
        super().get_or_create_vocab(data_dir, tmp_dir)

    @property
    def vocab_filename(self) -> str:
        if self._vocab_files["inputs"]:
            return f"vocab.{self.dataset_filename()}.given.subwords"
        return super().vocab_filename

    def generate_samples(
        self, data_dir: str, tmp_dir: str, dataset_split: str
    ) -> Iterator[dict[str, str]]:
        source, target = self._files[dataset_split]
        if not source or not target:
            raise UserError(
                f"problem text2text has no {dataset_split} files: give"
                f" --{dataset_split}_source and --{dataset_split}_target"
            )
        for inputs, targets in parallel_text.read_pairs(source, target, self._utf8_errors):
            yield {"inputs": inputs, "targets": targets}

    def _corpus_is_missing(self, split: str, tmp_dir: str) -> bool:
        return not all(name and Path(name).is_file() for name in self._files[split])


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().resolve()) if path else ""


def _require_reserved_tokens(encoder: SubwordTextEncoder, path: str) -> None:
    first = [entry.removesuffix("_") for entry in encoder.subtokens[: len(RESERVED_TOKENS)]]
    if first != list(RESERVED_TOKENS):
        raise UserError(
            f"the vocabulary file {path} begins with {encoder.subtokens[:2]}; ids 0 and 1 are"
            " padding and end of sentence, so its first two lines must be '<pad>_' and '<EOS>_'"
        )
