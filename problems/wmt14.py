"""WMT translation, English to German and to French, with T2T's names, files and vocabularies.

`wmt14_ende` is `translate_ende_wmt32k` and `wmt14_enfr` is `translate_enfr_wmt32k`. The corpora are
those of T2T 1.8.0 – 1.15.7 (`data_generators/translate_ende.py`, `translate_enfr.py`); a
vocabulary or a score of another period (news commentary v11 until 1.1.3, v12 until 1.7.0) is not
comparable bit for bit. `_rev` at the end of any name turns the direction round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_transformer.data.corpora import Corpus
from keras_transformer.data.problem import DatasetSplit
from keras_transformer.data.text_problem import Text2TextProblem, VocabType
from keras_transformer.data.translate_problem import TranslateProblem
from keras_transformer.registry import alias_problem, refuse_problem, register_problem

STATMT = "http://www.statmt.org/"
COMMONCRAWL = STATMT + "wmt13/training-parallel-commoncrawl.tgz"
EUROPARL = STATMT + "wmt13/training-parallel-europarl-v7.tgz"
DEV = "http://data.statmt.org/wmt17/translation-task/dev.tgz"
STANFORD = "https://nlp.stanford.edu/projects/nmt/data/wmt14.en-de/"

ENDE_TRAIN = [
    [
        "http://data.statmt.org/wmt18/translation-task/training-parallel-nc-v13.tgz",
        (
            "training-parallel-nc-v13/news-commentary-v13.de-en.en",
            "training-parallel-nc-v13/news-commentary-v13.de-en.de",
        ),
    ],
    [COMMONCRAWL, ("commoncrawl.de-en.en", "commoncrawl.de-en.de")],
    [EUROPARL, ("training/europarl-v7.de-en.en", "training/europarl-v7.de-en.de")],
]
ENDE_DEV = [[DEV, ("dev/newstest2013.en", "dev/newstest2013.de")]]
# T2T generates no test set; the paper's is newstest2014, here Stanford's plain files of it.
ENDE_TEST = [
    Corpus(
        (STANFORD + "newstest2014.en", STANFORD + "newstest2014.de"),
        ("newstest2014.en", "newstest2014.de"),
    )
]

ENFR_TRAIN = [
    [COMMONCRAWL, ("commoncrawl.fr-en.en", "commoncrawl.fr-en.fr")],
    [EUROPARL, ("training/europarl-v7.fr-en.en", "training/europarl-v7.fr-en.fr")],
    [
        STATMT + "wmt14/training-parallel-nc-v9.tgz",
        ("training/news-commentary-v9.fr-en.en", "training/news-commentary-v9.fr-en.fr"),
    ],
    [
        STATMT + "wmt10/training-giga-fren.tar",
        ("giga-fren.release2.fixed.en.gz", "giga-fren.release2.fixed.fr.gz"),
    ],
    [
        STATMT + "wmt13/training-parallel-un.tgz",
        ("un/undoc.2000.fr-en.en", "un/undoc.2000.fr-en.fr"),
    ],
]
ENFR_DEV = [[DEV, ("dev/newstest2013.en", "dev/newstest2013.fr")]]
ENFR_TEST = [
    Corpus(
        (STATMT + "wmt14/test-full.tgz",),
        ("test-full/newstest2014-fren-ref.en.sgm", "test-full/newstest2014-fren-src.fr.sgm"),
    )
]

SMALL = "https://s3.amazonaws.com/opennmt-trainingdata/baseline-1M-enfr.tgz"
ENFR_SMALL_TRAIN = [
    [SMALL, ("baseline-1M-enfr/baseline-1M_train.en", "baseline-1M-enfr/baseline-1M_train.fr")]
]
ENFR_SMALL_DEV = [
    [SMALL, ("baseline-1M-enfr/baseline-1M_valid.en", "baseline-1M-enfr/baseline-1M_valid.fr")]
]


def _names_until_1_8(name: str, pair: str) -> list[str]:
    """Names of a subword vocabulary file from 1.1 to 1.8.0, and in 1.0."""
    size = name.split(".")[-2]
    return [f"vocab.{pair}.{size}", f"tokens.vocab.{size}"] if size.isdigit() else []


class _Ende(TranslateProblem):
    tfds_name = "wmt_t2t_translate/de-en"  # the same three corpora
    languages = ("en", "de")
    test_corpora = ENDE_TEST

    def source_data_files(self, dataset_split: str) -> Sequence[Any]:
        return ENDE_TRAIN if dataset_split == DatasetSplit.TRAIN else ENDE_DEV

    def older_vocab_files(self, name: str) -> Sequence[str]:
        return _names_until_1_8(name, "ende")


class _Enfr(TranslateProblem):
    tfds_name = "wmt14_translate/fr-en"  # the same five corpora
    languages = ("en", "fr")
    test_corpora = ENFR_TEST

    def source_data_files(self, dataset_split: str) -> Sequence[Any]:
        return ENFR_TRAIN if dataset_split == DatasetSplit.TRAIN else ENFR_DEV

    def older_vocab_files(self, name: str) -> Sequence[str]:
        return _names_until_1_8(name, "enfr")


class _EnfrSmall(TranslateProblem):
    languages = ("en", "fr")
    test_corpora = ENFR_TEST

    def source_data_files(self, dataset_split: str) -> Sequence[Any]:
        return ENFR_SMALL_TRAIN if dataset_split == DatasetSplit.TRAIN else ENFR_SMALL_DEV


@register_problem
class TranslateEndeWmt8k(_Ende):
    """English to German, WMT, 2**13 subwords."""

    approx_vocab_size = 2**13


@register_problem
class TranslateEndeWmt32k(_Ende):
    """English to German, WMT, 2**15 subwords: the paper's En-De (`wmt14_ende`)."""

    approx_vocab_size = 2**15


@register_problem
class TranslateEndeWmt8kPacked(_Ende):
    """`translate_ende_wmt8k`, several sentences in a row of 256."""

    packed_length = 256

    @property
    def use_vocab_from_other_problem(self) -> Text2TextProblem:  # type: ignore[override]
        return TranslateEndeWmt8k(source=self.source)


@register_problem
class TranslateEndeWmt32kPacked(_Ende):
    """`translate_ende_wmt32k`, several sentences in a row of 256."""

    packed_length = 256

    @property
    def use_vocab_from_other_problem(self) -> Text2TextProblem:  # type: ignore[override]
        return TranslateEndeWmt32k(source=self.source)


@register_problem
class TranslateEndeWmtCharacters(_Ende):
    """English to German, WMT, UTF-8 bytes."""

    vocab_type = VocabType.CHARACTER


@register_problem
class TranslateEnfrWmt8k(_Enfr):
    """English to French, WMT, 2**13 subwords."""

    approx_vocab_size = 2**13


@register_problem
class TranslateEnfrWmt32k(_Enfr):
    """English to French, WMT, 2**15 subwords: the paper's En-Fr (`wmt14_enfr`)."""

    approx_vocab_size = 2**15


@register_problem
class TranslateEnfrWmt32kPacked(_Enfr):
    """`translate_enfr_wmt32k`, several sentences in a row of 256."""

    packed_length = 256

    @property
    def use_vocab_from_other_problem(self) -> Text2TextProblem:  # type: ignore[override]
        return TranslateEnfrWmt32k(source=self.source)


@register_problem
class TranslateEnfrWmtCharacters(_Enfr):
    """English to French, WMT, UTF-8 bytes."""

    vocab_type = VocabType.CHARACTER


@register_problem
class TranslateEnfrWmtSmall8k(_EnfrSmall):
    """English to French, a million pairs, 2**13 subwords."""

    approx_vocab_size = 2**13


@register_problem
class TranslateEnfrWmtSmall32k(_EnfrSmall):
    """English to French, a million pairs, 2**15 subwords."""

    approx_vocab_size = 2**15


@register_problem
class TranslateEnfrWmtSmallCharacters(_EnfrSmall):
    """English to French, a million pairs, UTF-8 bytes."""

    vocab_type = VocabType.CHARACTER


alias_problem("wmt14_ende", "translate_ende_wmt32k")
alias_problem("wmt14_enfr", "translate_enfr_wmt32k")

for _name, _plain in (
    ("translate_ende_wmt_clean8k", "translate_ende_wmt8k"),
    ("translate_ende_wmt_clean32k", "translate_ende_wmt32k"),
    ("translate_ende_wmt_clean32k_packed", "translate_ende_wmt32k_packed"),
):
    refuse_problem(
        _name,
        f"its cleaning heuristics are not rebuilt here; train {_plain} (the same vocabulary), or"
        " clean the files yourself and use text2text with --vocab_file",
    )
for _name in (
    "translate_ende_pc32k",
    "translate_ende_wmt_pc32k",
    "translate_ende_pc_clean32k",
    "translate_ende_wmt_pc_clean32k",
):
    refuse_problem(
        _name,
        "the ParaCrawl release T2T used is not offered; fetch ParaCrawl and use text2text, with"
        " --vocab_file=vocab.translate_ende_wmt32k.32768.subwords for T2T's vocabulary",
    )
for _name in (
    "translate_enfr_wmt32k_with_backtranslate_fr",
    "translate_enfr_wmt32k_with_backtranslate_en",
):
    refuse_problem(
        _name,
        "its back-translated text was never published; join your own to the corpus and use"
        " text2text, with --vocab_file=vocab.translate_enfr_wmt32k.32768.subwords",
    )
refuse_problem(
    "translate_ende2018_wmt32k",
    "T2T registered it without a list of sources, so it never worked; use translate_ende_wmt32k"
    " or text2text with the WMT18 files",
)
