"""Parsing the Wall Street Journal: the paper's second task (section 6.3) under T2T's names.

The trees are the user's own, as the treebank is licensed; `data/treebank.py` says where they are
looked for. T2T 1.15's English generators for these names fail, or learn their vocabulary from the
first 1,000 sentences; here they do what the 2017 code did: a subword vocabulary for the words,
a small one for the symbols, space ids 3 → 15, the end symbol on both sides.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from keras_transformer.data.parsing_problem import TreebankProblem
from keras_transformer.data.problem import Encoder
from keras_transformer.errors import UserError
from keras_transformer.registry import refuse_problem, register_problem

logger = logging.getLogger(__name__)

VOCAB_STYLES = ("separate", "t2t")


@register_problem
class WsjParsing(TreebankProblem):
    """Constituency parsing of English newspaper text; bring your own Penn Treebank.

    Args:
        vocab_style: `separate` for a source and a target vocabulary; `t2t` for the one shared
            vocabulary of T2T 1.15's `wsj_parsing`, learned from the first 1,000 trees. Default:
            the style of the vocabulary in the data directory, `separate` if there is none.
    """

    def __init__(self, *args: Any, vocab_style: str = "", **options: Any):
        super().__init__(*args, **options)
        if vocab_style not in ("", *VOCAB_STYLES):
            raise UserError(
                f"vocab_style is {vocab_style!r}: it must be one of {', '.join(VOCAB_STYLES)}"
            )
        self._vocab_style = ""
        if vocab_style:
            self._set_vocab_style(vocab_style)

    def _set_vocab_style(self, style: str) -> None:
        self._vocab_style = style
        self.options["vocab_style"] = style
        if style == "t2t":
            self.separate_vocabularies = False
            self.approx_vocab_size = 2**15
            self.max_samples_for_vocab = 1000

    def _adopt_vocab_style(self, data_dir: str) -> None:
        """Takes the style of the vocabulary that lies in the data directory, if none was asked."""
        if self._vocab_style or not Path(data_dir, f"vocab.{self.name}.32768.subwords").is_file():
            return
        if not Path(data_dir, self.source_vocab_filename).is_file():
            logger.info("%s holds the shared vocabulary of T2T 1.15: vocab_style=t2t", data_dir)
            self._set_vocab_style("t2t")

    def is_generated(self, data_dir: str) -> bool:
        self._adopt_vocab_style(data_dir)
        return super().is_generated(data_dir)

    def shard_paths(self, data_dir: str, split: str) -> list[str]:
        self._adopt_vocab_style(data_dir)
        return super().shard_paths(data_dir, split)

    def get_or_create_vocab(self, data_dir: str, tmp_dir: str) -> None:
        self._adopt_vocab_style(data_dir)
        super().get_or_create_vocab(data_dir, tmp_dir)

    def feature_encoders(self, data_dir: str) -> dict[str, Encoder]:
        self._adopt_vocab_style(data_dir)
        return super().feature_encoders(data_dir)


class _NamedVocabularies(TreebankProblem):
    """Separate vocabularies under the file names of T2T's own code."""

    source_vocab_filename = ""  # type: ignore[assignment]
    target_vocab_filename = ""  # type: ignore[assignment]

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        if self._source_vocab_size:
            raise UserError(
                f"problem {self.name}: its name fixes the vocabulary at {self.approx_vocab_size};"
                " use wsj_parsing with source_vocab_size or machine_trees"
            )


@register_problem("wsj_parsing_tokens_16k")
class WsjParsingTokens16k(_NamedVocabularies):
    """WSJ parsing as T2T 1.0 to 1.2 had it: 16,384 source and 512 target subwords."""

    source_vocab_filename = "wsj_source.tokens.vocab.16384"
    target_vocab_filename = "wsj_target.tokens.vocab.512"


@register_problem("parsing_english_ptb16k")
class ParsingEnglishPtb16k(_NamedVocabularies):
    """T2T's `parsing_english_ptb16k`: 16,384 source and 512 target subwords.

    T2T's generator fails, and its reader has the two sizes in the wrong file names
    (`wsj_source.vocab.512`); the names here are the right way round.
    """

    source_vocab_filename = "wsj_source.vocab.16384"
    target_vocab_filename = "wsj_target.vocab.512"


@register_problem("parsing_english_ptb8k")
class ParsingEnglishPtb8k(TreebankProblem):
    """T2T's `parsing_english_ptb8k`: one vocabulary of 8,192 subwords for both sides.

    T2T reads the vocabulary of a translation problem, `vocab.endefr.8192`; that file is used if
    it lies in the data directory, else it is learned from words and symbols. T2T also declares a
    length multiplier of 256, with which a batch would hold two sentences; it is left out.
    """

    separate_vocabularies = False
    approx_vocab_size = 2**13
    vocab_filename = "vocab.endefr.8192"  # type: ignore[assignment]
    loss_multiplier = 2.0


for _name in ("parsing_icelandic16k", "ice_parsing_tokens"):
    refuse_problem(
        _name,
        "its Icelandic pairs were never published; turn yours into bracketed trees, a line each,"
        " and use wsj_parsing with --train_trees and --dev_trees",
    )
refuse_problem(
    "wmt_parsing_tokens_8k",
    "it parsed with a vocabulary of translation; use parsing_english_ptb8k, its successor, with"
    " that vocabulary as vocab.endefr.8192 in --data_dir",
)
