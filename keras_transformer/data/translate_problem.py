"""Translation problems made from lists of corpora, with T2T's contract (`TranslateProblem`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from keras_transformer.data import corpora, parallel_text, tfds_source
from keras_transformer.data.corpora import Corpus
from keras_transformer.data.problem import DatasetSplit
from keras_transformer.data.text_problem import Text2TextProblem
from keras_transformer.errors import UserError

logger = logging.getLogger(__name__)

SOURCES = ("archives", "tfds")


class TranslateProblem(Text2TextProblem):
    """A problem whose text lies in archives of parallel files.

    A subclass says `approx_vocab_size` and `source_data_files(dataset_split)`.

    Args:
        source: `archives` (T2T's downloads) or `tfds` (the same corpora through
            tensorflow-datasets, see `tfds_name`).

    Attributes:
        tfds_name: name of the nearest TFDS data set, or "" if there is none.
        languages: source and target language codes, the feature names of the TFDS data set.
        test_corpora: test sets that T2T does not generate but that are decoded and scored.
    """

    tfds_name: str = ""
    languages: tuple[str, str] = ("", "")
    test_corpora: Sequence[Corpus] = ()

    def __init__(
        self, was_reversed: bool = False, was_copy: bool = False, source: str = SOURCES[0]
    ):
        super().__init__(was_reversed, was_copy)
        if source not in SOURCES:
            raise UserError(f"--source={source}: it must be one of {', '.join(SOURCES)}")
        if source == "tfds" and not self.tfds_name:
            raise UserError(
                f"--source=tfds: tensorflow-datasets has no set for {self.name};"
                " use --source=archives"
            )
        self.source = source
        if source != SOURCES[0]:
            self.options["source"] = source

    def source_data_files(self, dataset_split: str) -> Sequence[Any]:
        """Corpora of a split in T2T's form: `[[url, (source file, target file)], …]`."""
        raise NotImplementedError

    def vocab_data_files(self) -> Sequence[Any]:
        """Corpora the vocabulary is learnt from."""
        return self.source_data_files(DatasetSplit.TRAIN)

    def source_fingerprint(self) -> dict[str, Any]:
        return {"source": self.source}

    def _corpora(self, split: str) -> list[Corpus]:
        if split == DatasetSplit.TEST:
            if not self.test_corpora:
                raise UserError(f"problem {self.name} has no test split")
            return list(self.test_corpora)
        return [Corpus.from_t2t(source) for source in self.source_data_files(split)]

    def _vocab_corpora(self) -> list[Corpus]:
        return [Corpus.from_t2t(source) for source in self.vocab_data_files()]

    def prepare_sources(self, data_dir: str, tmp_dir: str) -> None:
        if self.source == "tfds":
            tfds_source.require(self.tfds_name, tmp_dir)
            return
        needed: list[Corpus] = []
        for row in self.dataset_splits:
            needed += self._corpora(str(row["split"]))
        needed += self._vocab_corpora()
        corpora.prepare(tmp_dir, list(dict.fromkeys(needed)), self.name)

    def generate_samples(
        self, data_dir: str, tmp_dir: str, dataset_split: str
    ) -> Iterator[dict[str, str]]:
        if self.source == "tfds":
            yield from tfds_source.pairs(self.tfds_name, self.languages, dataset_split, tmp_dir)
            return
        wanted = self._corpora(dataset_split)
        corpora.prepare(tmp_dir, wanted, self.name)
        for corpus in wanted:
            source_path, target_path = corpora.corpus_paths(tmp_dir, corpus)
            for source, target in parallel_text.read_pairs(source_path, target_path):
                yield {"inputs": source, "targets": target}

    def generate_text_for_vocab(self, data_dir: str, tmp_dir: str) -> Iterator[str]:
        """T2T's sample of about a million characters of each training file."""
        if self.source == "tfds":
            logger.warning(
                "%s: T2T's vocabulary is a function of whole corpus files and cannot be rebuilt"
                " from tensorflow-datasets; this one is learnt from a sample of the same size",
                self.name,
            )
            yield from tfds_source.vocab_sample(
                self.tfds_name,
                self.languages,
                tmp_dir,
                corpora.VOCAB_CHARACTERS_PER_FILE * len(self.vocab_data_files()),
            )
            return
        corpora.prepare(tmp_dir, self._vocab_corpora(), self.name)
        yield from corpora.vocab_sample(tmp_dir, self._vocab_corpora())

    def _corpus_is_missing(self, split: str, tmp_dir: str) -> bool:
        if self.source == "tfds":
            return False
        return bool(corpora.missing_downloads(tmp_dir, self._corpora(split)))
