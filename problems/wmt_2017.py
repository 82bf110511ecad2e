"""Data that T2T 1.0 to 1.2 made under the names its problems bore then.

A data directory of 2017 trains and evaluates as it is: these problems read its shards and its
vocabulary (`tokens.vocab.32768` in 1.0, `vocab.ende.32768` later). They cannot make data, since the
corpora and the vocabulary search were others; their successors can. Space ids are those of the
time, which a model of that time was trained with.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from keras_transformer.data.translate_problem import TranslateProblem
from keras_transformer.errors import UserError
from keras_transformer.registry import refuse_problem, register_problem


class _Tokens2017(TranslateProblem):
    pair = ""
    successor = ""

    @property
    def vocab_filename(self) -> str:
        return f"vocab.{self.pair}.{self.approx_vocab_size}"

    def older_vocab_files(self, name: str) -> Sequence[str]:
        return [f"tokens.vocab.{self.approx_vocab_size}"] if name == self.vocab_filename else []

    def generate_data(self, data_dir: str, tmp_dir: str, task_id: int = -1) -> None:
        raise UserError(
            f"{data_dir} holds no whole data of {self.name}, and T2T's data of 2017 cannot be made"
            f" anew; make that of {self.successor} with kt-datagen --problem={self.successor}"
        )


class _Ende2017(_Tokens2017):
    languages = ("en", "de")
    pair = "ende"
    space_ids = MappingProxyType({"inputs": 3, "targets": 8})  # English and German tokens


class _Enfr2017(_Tokens2017):
    languages = ("en", "fr")
    pair = "enfr"
    space_ids = MappingProxyType({"inputs": 3, "targets": 6})  # English and French tokens


@register_problem("wmt_ende_tokens_8k")
class WmtEndeTokens8k(_Ende2017):
    """English to German as T2T made it in 2017, 2**13 subwords; reads old data only."""

    approx_vocab_size = 2**13
    successor = "translate_ende_wmt8k"


@register_problem("wmt_ende_tokens_32k")
class WmtEndeTokens32k(_Ende2017):
    """English to German as T2T made it in 2017, 2**15 subwords; reads old data only."""

    approx_vocab_size = 2**15
    successor = "translate_ende_wmt32k"


@register_problem("wmt_enfr_tokens_8k")
class WmtEnfrTokens8k(_Enfr2017):
    """English to French as T2T made it in 2017, 2**13 subwords; reads old data only."""

    approx_vocab_size = 2**13
    successor = "translate_enfr_wmt8k"


@register_problem("wmt_enfr_tokens_32k")
class WmtEnfrTokens32k(_Enfr2017):
    """English to French as T2T made it in 2017, 2**15 subwords; reads old data only."""

    approx_vocab_size = 2**15
    successor = "translate_enfr_wmt32k"


@register_problem("wmt_enfr_tokens_128k")
class WmtEnfrTokens128k(_Enfr2017):
    """English to French as T2T made it in 2017, 2**17 subwords; reads old data only."""

    approx_vocab_size = 2**17
    successor = "translate_enfr_wmt32k"


refuse_problem(
    "wmt_ende_bpe32k",
    "until 1.2.9 T2T gave real words of its vocabulary the numbers of padding and end of sentence;"
    " make the data of translate_ende_wmt_bpe32k, its successor",
)
