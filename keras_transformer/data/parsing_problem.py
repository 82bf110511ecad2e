"""Problems that turn sentences into constituency trees.

The model learns T2T's linear form (`text/trees_linearise.py`): `inputs` are the words, `targets`
labels without words. After decoding, `finish_output` puts the input's own words back in, so that
what comes out is a tree over them, whatever the model said.

Beside shards and vocabularies the data directory holds

    <problem>.labels.json     which symbols are phrases and which tags (`text/trees_labels.py`)
    <problem>.dev.words, <problem>.dev.trees    the sentences and the gold trees, cleaned, line
                              by line, to decode from and to score against; the same for test
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.data import shards
from keras_transformer.data.problem import DatasetSplit, Encoder
from keras_transformer.data.text_problem import Text2TextProblem
from keras_transformer.data.treebank import (
    LICENCE_NOTE,
    ReadingReport,
    find_files,
    named_files,
    parse_sections,
    parse_weighted_files,
    read_clean_trees,
    weighted,
)
from keras_transformer.errors import UserError
from keras_transformer.text.lines import read_lines, write_lines
from keras_transformer.text.penn_tokenizer import penn_tokenize
from keras_transformer.text.trees import Tree, split_words
from keras_transformer.text.trees_cleaning import TreeCleaning
from keras_transformer.text.trees_labels import PENN_TREEBANK_LABELS, LabelInventory
from keras_transformer.text.trees_linearise import linearised_texts, source_text
from keras_transformer.text.trees_repair import Repairs, tree_from_symbols
from keras_transformer.text.trees_writing import format_parse

logger = logging.getLogger(__name__)


class ParsingProblem(Text2TextProblem):
    """A problem whose samples are trees; a subclass says where they come from.

    Attributes:
        parse_format: how `finish_output` writes a parse, one of `trees_writing.PARSE_FORMATS`.
        raw_input: sentences to parse are raw text, to be tokenised as the Penn Treebank is;
            False: words with blanks between.
        escape_slashes: raw `/` becomes `\\/`, as in the LDC's Wall Street Journal trees.
        repairs: what had to be mended in the best outputs counted so far.
    """

    separate_vocabularies = True
    approx_vocab_size = 2**14
    approx_target_vocab_size = 2**9  # type: ignore[assignment]
    max_subtoken_length = None  # T2T's parsing code sets no limit
    space_ids: Mapping[str, int] = {"inputs": 3, "targets": 15}  # English tokens, parse tokens
    # Paper, section 6.3. A tree has several symbols a word, so 50 beyond the input are too few.
    decode_defaults: Mapping[str, Any] = {"beam_size": 21, "alpha": 0.3, "extra_length": 300}
    # A few beams find nearly what 21 do, in a fraction of the time.
    scoring_search: Mapping[str, Any] = {"beam_size": 4}

    def __init__(self, was_reversed: bool = False, was_copy: bool = False):
        super().__init__(was_reversed, was_copy)
        self.parse_format = "tree"
        self.raw_input = False
        self.escape_slashes = False
        self.repairs = Repairs()
        if not (was_reversed or was_copy):
            self.best_figure = "bracket_fmeasure"
        self._labels: LabelInventory | None = None
        self._counting = threading.Lock()  # several devices finish outputs at the same time

    # ---- what a subclass writes -------------------------------------------------------------

    def trees(self, split: str, tmp_dir: str) -> Iterator[Tree]:
        """Clean trees of a split with their root, in corpus order; training trees as often as
        their weight says."""
        raise NotImplementedError

    def label_trees(self, tmp_dir: str) -> Iterator[Tree]:
        """Trees from which phrase labels and tags are told apart."""
        return self.trees(DatasetSplit.TRAIN, tmp_dir)

    # ---- samples ----------------------------------------------------------------------------

    def generate_samples(
        self, data_dir: str, tmp_dir: str, dataset_split: str
    ) -> Iterator[dict[str, str]]:
        for tree in self.trees(dataset_split, tmp_dir):
            words, symbols = linearised_texts(tree)
            yield {"inputs": words, "targets": symbols}

    # ---- files beside the shards ------------------------------------------------------------

    @property
    def labels_filename(self) -> str:
        """File name of the label inventory, beside the vocabularies."""
        return f"{self.dataset_filename()}.labels.json"

    def companion_files(self) -> list[str]:
        """Files that decoding reads besides the vocabularies, if they are there."""
        return [self.labels_filename]

    def gold_files(self, data_dir: str, split: str) -> tuple[str, str]:
        """Paths of (sentences, gold trees) of `dev` or `test`."""
        stem = str(Path(data_dir, f"{self.dataset_filename()}.{split}"))
        return f"{stem}.words", f"{stem}.trees"

    def get_or_create_vocab(self, data_dir: str, tmp_dir: str) -> None:
        """Learns the vocabularies, and writes the other files that stand beside the shards."""
        super().get_or_create_vocab(data_dir, tmp_dir)
        path = Path(data_dir, self.labels_filename)
        if not path.is_file():
            LabelInventory.learn(self.label_trees(tmp_dir)).save(path)
        self.write_gold_files(data_dir, tmp_dir)

    def write_gold_files(self, data_dir: str, tmp_dir: str) -> None:
        """Writes the sentences and gold trees of dev and test that are not in `data_dir` yet."""
        for split in (DatasetSplit.EVAL, DatasetSplit.TEST):
            words_path, trees_path = self.gold_files(data_dir, split)
            there = Path(words_path).is_file() and Path(trees_path).is_file()
            if there or self._corpus_is_missing(split, tmp_dir):
                continue
            gold = list(self.trees(split, tmp_dir))
            write_lines(words_path, (source_text(tree.words()) for tree in gold))
            write_lines(trees_path, map(str, gold))

    # ---- encoders and labels ----------------------------------------------------------------

    def feature_encoders(self, data_dir: str) -> dict[str, Encoder]:
        self.load_labels(data_dir)
        return super().feature_encoders(data_dir)

    def encoders_from_files(self, vocab_paths: Mapping[str, str | None]) -> dict[str, Encoder]:
        for path in vocab_paths.values():
            if path is not None:
                self.load_labels(str(Path(path).parent))
        return super().encoders_from_files(vocab_paths)

    def load_labels(self, folder: str) -> None:
        """Takes the label inventory of a data or run directory, if there is one."""
        path = Path(folder, self.labels_filename)
        if path.is_file():
            self._labels = LabelInventory.load(path)

    @property
    def labels(self) -> LabelInventory:
        """The inventory of the training trees; the Penn Treebank's where none was found."""
        if self._labels is None:
            logger.warning(
                "there is no %s beside the vocabulary: the labels of the Penn Treebank are taken",
                self.labels_filename,
            )
            self._labels = PENN_TREEBANK_LABELS
        return self._labels

    # ---- sentences in, trees out ------------------------------------------------------------

    def prepare_input(self, text: str) -> str:
        """A sentence as the model reads it: Penn Treebank words, brackets as -LRB- and so on."""
        if self.was_reversed or self.was_copy:
            return text
        if self.raw_input:
            return source_text(penn_tokenize(text, self.escape_slashes))
        return source_text(split_words(text))

    def finish_output(self, text: str, source_text: str) -> str:
        """Decoded symbols → a tree over the words of `source_text`, in `parse_format`."""
        if self.was_reversed or self.was_copy:
            return text
        tree, repairs = self._parse(text, source_text)
        return format_parse(tree, self.parse_format, repairs)

    def _parse(self, text: str, source_text: str) -> tuple[Tree, Repairs]:
        words = split_words(self.prepare_input(source_text))
        return tree_from_symbols(split_words(text), words, self.labels)

    @property
    def output_has_lines(self) -> bool:
        return self.parse_format == "pretty" and not (self.was_reversed or self.was_copy)

    def count_output(self, text: str, source_text: str) -> None:
        """Adds what has to be mended in an output to `repairs`."""
        if self.was_reversed or self.was_copy:
            return
        _, repairs = self._parse(text, source_text)
        with self._counting:
            self.repairs += repairs

    def decode_report(self) -> str:
        """`500 sentences, 3 of them malformed before repair (0.6 %): closed_early 2, …`."""
        counts = self.repairs.as_dict()
        sentences, malformed = counts.pop("sentences"), counts.pop("malformed_sentences")
        if not sentences:
            return ""
        share = 100 * malformed / sentences
        mended = ", ".join(f"{kind} {number}" for kind, number in counts.items() if number)
        return (
            f"{sentences} sentences, {malformed} of them malformed before repair ({share:.1f} %)"
            f"; repairs: {mended or 'none'}"
        )

    def scoring_lines(
        self, split: str, data_dir: str = "", tmp_dir: str = ""
    ) -> Iterator[tuple[str, str]]:
        """Sentences with their gold trees: those beside the shards, else those of the corpus."""
        if self.was_reversed or self.was_copy:
            yield from super().scoring_lines(split, data_dir, tmp_dir)
            return
        files = self.gold_files(data_dir, split)
        if data_dir and all(Path(path).is_file() for path in files):
            yield from zip(*map(read_lines, files), strict=True)
            return
        for tree in self.trees(split, tmp_dir):
            yield source_text(tree.words()), str(tree)

    def score_outputs(self, outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
        """EVALB's figures with COLLINS.prm, in percent, no sentence left out; and, where outputs
        were counted since the last call, how many of them were trees before they were mended."""
        if self.was_reversed or self.was_copy:
            return super().score_outputs(outputs, references)
        from keras_transformer.scoring.brackets import score_trees

        found = score_trees(references, outputs, skipping=False).all
        with self._counting:
            repairs, self.repairs = self.repairs, Repairs()
        figures = {
            "bracket_fmeasure": found.fmeasure or 0.0,
            "bracket_recall": found.recall,
            "bracket_precision": found.precision,
            "bracket_complete_match": found.complete_match,
            "bracket_tagging_accuracy": found.tagging_accuracy,
        }
        if repairs.sentences:
            well_formed = repairs.sentences - repairs.malformed_sentences
            figures["bracket_well_formed"] = 100 * well_formed / repairs.sentences
        return figures

    def decode_settings(self) -> dict[str, Any]:
        if self.was_reversed or self.was_copy:
            return {}
        return {"parse_format": self.parse_format, "raw_input": self.raw_input}

    def output_grammar(self, target_encoder: Any) -> Any:
        """Only trees with exactly the sentence's words; `text/graph_brackets.py` says how."""
        if self.was_reversed or self.was_copy:
            return None
        from keras_transformer.text.graph_brackets import BracketGrammar

        return BracketGrammar(target_encoder, self.labels, self._number_of_words)

    def _number_of_words(self, sentence: str) -> int:
        return len(split_words(self.prepare_input(sentence)))

    def text_steps_in_graph(self) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]] | None:
        """Both of the above as TensorFlow operations, for trees over tokenised sentences."""
        if self.was_reversed or self.was_copy:
            return (lambda texts: texts), (lambda texts, source_texts: texts)
        if self.raw_input or self.parse_format != "tree":
            return None
        from keras_transformer.text.graph_trees import GraphTrees, words_in_graph

        return words_in_graph, GraphTrees(self.labels).finish


class TreebankProblem(ParsingProblem):
    """A parsing problem whose trees lie in files (`data/treebank.py` says where).

    Args:
        parsing_path: folder or prefix of the tree files; default the temporary directory.
        train_trees, dev_trees, test_trees: files or folders named one by one (commas between),
            instead of what lies in `parsing_path`.
        train_sections, dev_sections, test_sections: sections of an LDC treebank, such as `02-21`.
        machine_trees: files parsed by machine to train on besides, `file=weight` with commas
            between; a weight says how often each tree is used.
        gold_weight: the same for the gold trees.
        max_words: training trees of more words are left out, and counted; 0 for no limit.
        keep_function_tags, keep_empty_elements: do not take them off (NP-SBJ, traces).
        source_vocab_size: wanted size of the source vocabulary; default 16,384, and 32,768 with
            `machine_trees`, as in the paper (section 6.3).
    """

    def __init__(
        self,
        was_reversed: bool = False,
        was_copy: bool = False,
        parsing_path: str = "",
        train_trees: str = "",
        dev_trees: str = "",
        test_trees: str = "",
        train_sections: str = "",
        dev_sections: str = "",
        test_sections: str = "",
        machine_trees: str = "",
        gold_weight: float = 1.0,
        max_words: int = 0,
        keep_function_tags: bool = False,
        keep_empty_elements: bool = False,
        source_vocab_size: int = 0,
    ):
        super().__init__(was_reversed, was_copy)
        self.escape_slashes = True
        self._parsing_path = parsing_path
        self._named = {"train": train_trees, "dev": dev_trees, "test": test_trees}
        self._sections = {"train": train_sections, "dev": dev_sections, "test": test_sections}
        for sections in filter(None, self._sections.values()):
            parse_sections(sections)
        self._machine_trees = parse_weighted_files(machine_trees)
        self._gold_weight = float(gold_weight)
        if not 0 < self._gold_weight < 1e6:
            raise UserError(f"gold_weight is {gold_weight}: it must be a positive number")
        if max_words < 0 or source_vocab_size < 0:
            raise UserError("max_words and source_vocab_size must not be negative")
        self._max_words = max_words
        self._cleaning = TreeCleaning(
            remove_function_tags=not keep_function_tags,
            remove_empty_elements=not keep_empty_elements,
        )
        self._source_vocab_size = source_vocab_size or (2**15 if machine_trees else 0)
        self._reported: set[str] = set()
        self._has_test = False  # T2T's data directories have no test shards
        given = {
            "parsing_path": parsing_path,
            "train_trees": train_trees,
            "dev_trees": dev_trees,
            "test_trees": test_trees,
            "train_sections": train_sections,
            "dev_sections": dev_sections,
            "test_sections": test_sections,
            "machine_trees": machine_trees,
            "gold_weight": self._gold_weight if self._gold_weight != 1.0 else "",
            "max_words": max_words,
            "keep_function_tags": keep_function_tags,
            "keep_empty_elements": keep_empty_elements,
            "source_vocab_size": source_vocab_size,
        }
        self.options.update({name: value for name, value in given.items() if value})

    @property
    def approx_source_vocab_size(self) -> int:
        return self._source_vocab_size or self.approx_vocab_size

    @property
    def dataset_splits(self) -> list[dict[str, Any]]:
        splits = [
            {"split": DatasetSplit.TRAIN, "shards": 10},
            {"split": DatasetSplit.EVAL, "shards": 1},
        ]
        return [*splits, {"split": DatasetSplit.TEST, "shards": 1}] if self._has_test else splits

    def source_fingerprint(self) -> dict[str, Any]:
        return dict(self.options)

    # ---- files ------------------------------------------------------------------------------

    def tree_files(self, split: str, tmp_dir: str) -> list[Path]:
        """The gold files of a split; none if there are none.

        Raises:
            UserError: a file that was named is not there, or a section is missing.
        """
        if self._named[split]:
            return named_files(self._named[split])
        base = self._parsing_path or tmp_dir
        return find_files(base, split, self._sections[split]) if base else []

    def prepare_sources(self, data_dir: str, tmp_dir: str) -> None:
        wanted = (DatasetSplit.TRAIN, DatasetSplit.EVAL)
        missing = [split for split in wanted if not self.tree_files(split, tmp_dir)]
        if missing:
            raise UserError(
                f"problem {self.name}: there are no trees for {' and '.join(missing)} in"
                f" {self._parsing_path or tmp_dir}. {LICENCE_NOTE}"
            )
        self._has_test = bool(self.tree_files(DatasetSplit.TEST, tmp_dir))
        for name, _ in self._machine_trees:
            named_files(name)

    def _corpus_is_missing(self, split: str, tmp_dir: str) -> bool:
        try:
            return not self.tree_files(split, tmp_dir)
        except UserError:  # files that were named are not on this machine
            return True

    def trees(self, split: str, tmp_dir: str) -> Iterator[Tree]:
        files = self.tree_files(split, tmp_dir)
        if not files:
            raise UserError(
                f"problem {self.name}: there are no trees for {split} in"
                f" {self._parsing_path or tmp_dir}. {LICENCE_NOTE}"
            )
        if split != DatasetSplit.TRAIN:
            yield from self._read(split, files, split)
            return
        yield from weighted(self._read(split, files, split), self._gold_weight)
        for name, weight in self._machine_trees:
            yield from weighted(self._read(split, named_files(name), name), weight)

    def label_trees(self, tmp_dir: str) -> Iterator[Tree]:
        """The gold trees for training, each once."""
        return self._read(DatasetSplit.TRAIN, self.tree_files("train", tmp_dir), "train")

    def _read(self, split: str, files: list[Path], what: str) -> Iterator[Tree]:
        report = ReadingReport()
        for_training = split == DatasetSplit.TRAIN
        max_words = self._max_words if for_training else 0
        yield from read_clean_trees(files, self._cleaning, report, for_training, max_words)
        if what not in self._reported:  # vocabulary and labels read the same trees again
            self._reported.add(what)
            logger.info(
                "%s, %s: %d trees, the longest of %d words; left out: %d broken, %d empty,"
                " %d of more than max_words=%d words",
                self.name,
                what,
                report.kept,
                report.longest,
                report.broken,
                report.empty,
                report.too_long,
                max_words,
            )

    # ---- generation -------------------------------------------------------------------------

    def is_generated(self, data_dir: str) -> bool:
        # The test shards, if any, are moved in together with these.
        return shards.is_complete(data_dir, self.dataset_filename(), ["train", "dev"])
