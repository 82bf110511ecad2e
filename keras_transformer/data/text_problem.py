"""Problems whose two sides are text.

`Text2TextProblem` keeps the contract of T2T's class of that name (`data_generators/
text_problems.py`): a subclass says `approx_vocab_size`, `vocab_type`, `dataset_splits`,
`is_generate_per_split` as attributes or properties and yields its samples:

    @register_problem
    class MyEnde(Text2TextProblem):
        approx_vocab_size = 2**13

        def generate_samples(self, data_dir, tmp_dir, dataset_split):
            yield {"inputs": "A house.", "targets": "Ein Haus."}
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.data import shards
from keras_transformer.data.problem import DatasetSplit, Encoder, Problem
from keras_transformer.errors import UserError

logger = logging.getLogger(__name__)

EOS_ID = 1


class VocabType:
    """How text becomes ids; the values stand in vocabulary file names (T2T `VocabType`)."""

    CHARACTER = "character"  # UTF-8 bytes, no file
    SUBWORD = "subwords"  # T2T's invertible subwords
    TOKEN = "tokens"  # whitespace tokens looked up in a file that must exist


class Text2TextProblem(Problem):
    """A problem that maps text to text, with one vocabulary for both sides or one for each.

    What a subclass may say (each as attribute or property):

    Attributes:
        approx_vocab_size: wanted size of the subword vocabulary; part of its file name.
        approx_source_vocab_size, approx_target_vocab_size: the same for each side when
            `separate_vocabularies`; default `approx_vocab_size`.
        separate_vocabularies: one vocabulary for each side (ours; T2T has one for both).
        vocab_type: a `VocabType`.
        is_generate_per_split: `generate_samples` is called for each split; if False it is called
            once, for `train`, and its samples are dealt over the shards of all splits.
        max_samples_for_vocab: samples read to learn the vocabulary; None = all.
        max_subtoken_length: T2T's limit while learning, in characters (200 admits 199).
        additional_reserved_tokens: entries behind `<pad>` and `<EOS>`.
        oov_token: the entry unknown tokens become (`VocabType.TOKEN`).
        use_vocab_from_other_problem: a problem whose vocabulary this one shares, or None.
    """

    approx_vocab_size: int = 2**15
    separate_vocabularies: bool = False
    vocab_type: str = VocabType.SUBWORD
    is_generate_per_split: bool = True
    max_samples_for_vocab: int | None = None
    max_subtoken_length: int | None = 200
    additional_reserved_tokens: Iterable[str] = ()
    oov_token: str | None = None
    use_vocab_from_other_problem: Text2TextProblem | None = None

    # ---- what a subclass writes -------------------------------------------------------------

    def generate_samples(
        self, data_dir: str, tmp_dir: str, dataset_split: str
    ) -> Iterator[dict[str, str]]:
        """Yields `{"inputs": text, "targets": text}` for a split.

        A pair of which one side is empty after stripping is left out by the caller, with a count.
        """
        raise NotImplementedError

    def prepare_sources(self, data_dir: str, tmp_dir: str) -> None:
        """Finds or fetches everything `generate_samples` will read, before any work is done.

        Raises:
            UserError: with the list of everything that is missing and the way to get it.
        """

    def source_fingerprint(self) -> dict[str, Any]:
        """What the data is made from (JSON-able); data made from something else is not reused."""
        return {}

    def generate_text_for_vocab(self, data_dir: str, tmp_dir: str) -> Iterator[str]:
        """Text from which the shared vocabulary is learnt: both sides of the training samples."""
        for sample in self._vocab_samples(data_dir, tmp_dir):
            yield sample["inputs"]
            yield sample["targets"]

    def generate_text_for_side_vocab(self, side: str, data_dir: str, tmp_dir: str) -> Iterator[str]:
        """Text of one side, for problems with separate vocabularies."""
        for sample in self._vocab_samples(data_dir, tmp_dir):
            yield sample[side]

    def _vocab_samples(self, data_dir: str, tmp_dir: str) -> Iterator[dict[str, str]]:
        samples = self.generate_samples(data_dir, tmp_dir, DatasetSplit.TRAIN)
        for number, sample in enumerate(samples):
            if self.max_samples_for_vocab is not None and number >= self.max_samples_for_vocab:
                return
            yield sample

    # ---- vocabularies -----------------------------------------------------------------------

    @property
    def approx_source_vocab_size(self) -> int:
        return self.approx_vocab_size

    @property
    def approx_target_vocab_size(self) -> int:
        return self.approx_vocab_size

    @property
    def vocab_filename(self) -> str:
        """File name of the shared vocabulary (T2T's form, from 1.9.0 on)."""
        other = self.use_vocab_from_other_problem
        if other is not None:
            return other.vocab_filename
        if self.vocab_type == VocabType.SUBWORD:
            return f"vocab.{self.dataset_filename()}.{self.approx_vocab_size}.{VocabType.SUBWORD}"
        return f"vocab.{self.dataset_filename()}.{VocabType.TOKEN}"

    @property
    def source_vocab_filename(self) -> str:
        """File name of the inputs' vocabulary; that of `vocab_filename` if both share it."""
        return self._side_vocab_filename("source", self.approx_source_vocab_size)

    @property
    def target_vocab_filename(self) -> str:
        """File name of the targets' vocabulary; that of `vocab_filename` if both share it."""
        return self._side_vocab_filename("target", self.approx_target_vocab_size)

    def _side_vocab_filename(self, side: str, size: int) -> str:
        if not self.separate_vocabularies:
            return self.vocab_filename
        if self.vocab_type == VocabType.SUBWORD:
            return f"vocab.{self.dataset_filename()}.{side}.{size}.{VocabType.SUBWORD}"
        return f"vocab.{self.dataset_filename()}.{side}.{VocabType.TOKEN}"

    def feature_vocab_files(self) -> dict[str, str | None]:
        if self.vocab_type == VocabType.CHARACTER:
            return {"inputs": None, "targets": None}
        return {"inputs": self.source_vocab_filename, "targets": self.target_vocab_filename}

    def load_encoder(self, side: str, path: str | None) -> Encoder:
        """The encoder for a vocabulary file of this problem's `vocab_type`.

        Raises:
            UserError: there is no such file, or it is not a vocabulary of that type.
        """
        del side
        if self.vocab_type == VocabType.CHARACTER:
            from keras_transformer.text.byte_encoder import ByteTextEncoder

            return ByteTextEncoder()
        if path is None or not Path(path).is_file():
            raise UserError(
                f"there is no vocabulary file {path}: make the data of {self.name} with"
                " kt-datagen, or name the folder that holds it"
            )
        if self.vocab_type == VocabType.SUBWORD:
            from keras_transformer.text.subword_encoder import SubwordTextEncoder

            return SubwordTextEncoder.load(path)
        if self.vocab_type == VocabType.TOKEN:
            from keras_transformer.text.token_encoder import TokenTextEncoder

            return TokenTextEncoder.load(path, replace_oov=self.oov_token)
        raise UserError(
            f"problem {self.name}: vocab_type is {self.vocab_type!r}; it must be"
            f" {VocabType.SUBWORD!r}, {VocabType.CHARACTER!r} or {VocabType.TOKEN!r}"
        )

    def feature_encoders(self, data_dir: str) -> dict[str, Encoder]:
        files = self.feature_vocab_files()
        source = self.load_encoder(
            "inputs", str(self.find_vocab_file(data_dir, files["inputs"] or ""))
        )
        if files["targets"] == files["inputs"]:
            return {"inputs": source, "targets": source}
        target = self.load_encoder(
            "targets", str(self.find_vocab_file(data_dir, files["targets"] or ""))
        )
        return {"inputs": source, "targets": target}

    def get_or_create_vocab(self, data_dir: str, tmp_dir: str) -> None:
        """Learns and writes the vocabulary files that are not in `data_dir` yet.

        Raises:
            UserError: the vocabulary is one that cannot be learnt (`VocabType.TOKEN`) and its
                file is missing, or the training text is empty.
        """
        if self.use_vocab_from_other_problem is not None:
            self.use_vocab_from_other_problem.get_or_create_vocab(data_dir, tmp_dir)
            return
        for side, file_name in self.feature_vocab_files().items():
            if file_name is None or self.find_vocab_file(data_dir, file_name).is_file():
                continue
            if self.vocab_type != VocabType.SUBWORD:
                raise UserError(
                    f"there is no vocabulary file {Path(data_dir, file_name)}: problem"
                    f" {self.name} looks whole tokens up in it and cannot learn it"
                )
            size = self.approx_vocab_size
            lines = self.generate_text_for_vocab(data_dir, tmp_dir)
            if self.separate_vocabularies:
                lines = self.generate_text_for_side_vocab(side, data_dir, tmp_dir)
                size = (
                    self.approx_source_vocab_size
                    if side == "inputs"
                    else self.approx_target_vocab_size
                )
            self._learn_vocab(str(Path(data_dir, file_name)), lines, size)

    def _learn_vocab(self, path: str, lines: Iterable[str], size: int) -> None:
        from keras_transformer.text.subword_encoder import SubwordTextEncoder

        logger.info("learning the vocabulary %s", path)
        encoder = SubwordTextEncoder.learn(
            lines,
            target_size=size,
            max_subtoken_length=self.max_subtoken_length,
            reserved_tokens=["<pad>", "<EOS>", *self.additional_reserved_tokens],
        )
        encoder.save(path)
        logger.info("%s: %d entries, aimed at %d", path, encoder.vocab_size, size)

    # ---- shards -----------------------------------------------------------------------------

    def generate_encoded_samples(
        self, data_dir: str, tmp_dir: str, dataset_split: str
    ) -> Iterator[Mapping[str, list[int]]]:
        """Yields examples as ids with EOS. Override to write ids of your own making (T2T)."""
        encoders = self.feature_encoders(data_dir)
        for sample in self.generate_samples(data_dir, tmp_dir, dataset_split):
            yield {side: [*encoders[side].encode(text), EOS_ID] for side, text in sample.items()}

    def is_generated(self, data_dir: str) -> bool:
        """True if the data is there, whole.

        Raises:
            UserError: it is there but was made from other files than this problem names.
        """
        from keras_transformer.data import generation

        if not super().is_generated(data_dir):
            return False
        manifest = generation.read_manifest(data_dir, self.dataset_filename())
        mine = self.source_fingerprint()
        if manifest and mine and manifest["sources"] != mine:
            raise UserError(
                f"{data_dir} holds data of {self.name} that was made from other files or with"
                f" another vocabulary: {manifest['sources']}, not {mine}; use another --data_dir"
            )
        for file_name in self.vocab_files().values():
            if file_name and not self.find_vocab_file(data_dir, file_name).is_file():
                raise UserError(
                    f"{data_dir} holds the shards of {self.name} but not the vocabulary file"
                    f" {file_name} they were made with: put it there"
                )
        return True

    def generate_data(self, data_dir: str, tmp_dir: str, task_id: int = -1) -> None:
        from keras_transformer.data import generation

        del task_id
        generation.generate(self, data_dir, tmp_dir)

    # ---- plain text -------------------------------------------------------------------------

    def split_samples(
        self, split: str, data_dir: str = "", tmp_dir: str = ""
    ) -> Iterator[dict[str, str]]:
        """Text pairs of a split: from the corpus, else decoded from the shards.

        The shards are shuffled and keep no corpus order; they are read when the corpus is not
        at hand, or when the problem cuts its splits out of one stream.
        """
        if self.is_generate_per_split and not (
            data_dir and self._corpus_is_missing(split, tmp_dir)
        ):
            yield from self.generate_samples(data_dir, tmp_dir, split)
            return
        yield from self._samples_of_shards(split, data_dir)

    def _corpus_is_missing(self, split: str, tmp_dir: str) -> bool:
        """True if reading the text would need a download."""
        del split, tmp_dir
        return False

    def _samples_of_shards(self, split: str, data_dir: str) -> Iterator[dict[str, str]]:
        from keras_transformer.data import example_format, tfrecord

        encoders = self.feature_encoders(data_dir)
        for path in shards.find(data_dir, self.dataset_filename(), split):
            for record in tfrecord.read_records(path):
                features = example_format.decode_example(record)
                yield {
                    side: encoders[side].decode([i for i in features[side] if i != EOS_ID])
                    for side in ("inputs", "targets")
                }


def text2text_txt_iterator(source_path: str, target_path: str) -> Iterator[dict[str, str]]:
    """Pairs of the lines of two files, stripped, as T2T's function of that name."""
    from keras_transformer.data import parallel_text

    for source, target in parallel_text.read_pairs(source_path, target_path):
        yield {"inputs": source, "targets": target}


def text2text_txt_tab_iterator(path: str) -> Iterator[dict[str, str]]:
    """Pairs of a file of `source TAB target` lines; lines without a tab are left out (T2T)."""
    from keras_transformer.text.lines import read_lines

    for line in read_lines(path):
        if "\t" in line:
            source, target = line.split("\t", maxsplit=1)
            yield {"inputs": source.strip(), "targets": target.strip()}
