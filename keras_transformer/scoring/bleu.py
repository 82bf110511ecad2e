"""One interface over all measures of translation: lines in, score with signature out.

| measure | what |
| --- | --- |
| `paper` | the paper's: Moses tokens, compounds split, multi-bleu (T2T's `get_ende_bleu.sh`) |
| `moses` | the same without compound splitting, as usual for every target language but German |
| `t2t_uncased`, `t2t_cased` | `t2t-bleu`: detokenised text, T2T's own tokenisation |
| `sacrebleu` | sacreBLEU's BLEU with its tokenizer for the language (13a for most) |
| `chrf` | sacreBLEU's chrF2 |

In `paper` and `moses` typographic punctuation is replaced on the hypothesis only, as T2T's script
did; the signature says so (`punct:hyp`), and the form of the Moses scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from keras_transformer.errors import UserError
from keras_transformer.scoring.compound_split import split_compounds
from keras_transformer.scoring.moses import Form, MosesTokenizer, replace_unicode_punctuation
from keras_transformer.scoring.multi_bleu import multi_bleu
from keras_transformer.scoring.t2t_bleu import t2t_bleu
from keras_transformer.text.lines import PathLike, read_lines


@dataclass(frozen=True)
class Score:
    """What one measure says about a translation.

    Attributes:
        measure: its name, see the module's table.
        score: 0 to 100.
        signature: all that must be equal for two scores to be comparable.
        segments: lines scored.
        precisions: of 1- to 4-grams, 0 to 100; empty for measures that are not BLEU.
        brevity_penalty: 0 to 1; None for measures that are not BLEU.
        hypothesis_length: words of the hypothesis after the measure's tokenisation.
        reference_length: words of the reference.
    """

    measure: str
    score: float
    signature: str
    segments: int
    precisions: tuple[float, ...] = ()
    brevity_penalty: float | None = None
    hypothesis_length: int | None = None
    reference_length: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The fields, ready for JSON."""
        return asdict(self)


def score(
    hypotheses: Iterable[str],
    references: Iterable[str],
    measure: str,
    target_language: str = "de",
    moses_form: Form = "2017",
) -> Score:
    """Scores a translation against one reference.

    An empty hypothesis line counts with no words against its reference; a hypothesis without any
    word scores 0.

    Args:
        hypotheses: lines as the decoder wrote them, detokenised.
        references: lines in the same order, detokenised.
        measure: one of `MEASURES`.
        target_language: ISO 639-1 code, for the tokenizers of Moses and sacreBLEU.
        moses_form: "2017" or "today", see `scoring.moses`.

    Raises:
        UserError: if the numbers of lines differ or are 0, or a name is unknown.
    """
    if measure not in MEASURES:
        raise UserError(f"measure {measure!r} is unknown: it must be one of {', '.join(MEASURES)}")
    hypotheses, references = list(hypotheses), list(references)
    if len(hypotheses) != len(references):
        raise UserError(
            f"the translation has {len(hypotheses)} lines, the reference {len(references)}: "
            "line n of one is scored against line n of the other, so both must have equally many "
            "(records end at LF alone)"
        )
    if not hypotheses:
        raise UserError("there is nothing to score: translation and reference have no line")
    return _SCORERS[measure](hypotheses, references, target_language, moses_form)


def score_files(
    translation: PathLike,
    reference: PathLike,
    measures: Sequence[str],
    target_language: str = "de",
    moses_form: Form = "2017",
) -> list[Score]:
    """`score` of two text files by several measures.

    Raises:
        UserError: as `score`, and if a file is missing or not UTF-8.
    """
    hypotheses, references = list(read_lines(translation)), list(read_lines(reference))
    return [score(hypotheses, references, name, target_language, moses_form) for name in measures]


def default_measures(target_language: str) -> list[str]:
    """The three scores to report: the paper's or its sibling, T2T's in both cases, sacreBLEU."""
    tokenized = "paper" if target_language == "de" else "moses"
    return [tokenized, "t2t_cased", "t2t_uncased", "sacrebleu"]


def _score_moses(
    hypotheses: list[str],
    references: list[str],
    target_language: str,
    moses_form: Form,
    measure: str,
) -> Score:
    tokenizer = MosesTokenizer(target_language, moses_form)
    punctuated = (replace_unicode_punctuation(line, moses_form) for line in hypotheses)
    hypotheses = [tokenizer.tokenize(line) for line in punctuated]
    references = [tokenizer.tokenize(line) for line in references]
    split = measure == "paper"
    if split:
        hypotheses = list(map(split_compounds, hypotheses))
        references = list(map(split_compounds, references))
    result = multi_bleu(hypotheses, references)
    return Score(
        measure=measure,
        score=100 * result.score,
        signature=(
            f"eval:multi-bleu|case:mixed|lang:{target_language}|tok:moses-{moses_form}"
            f"|punct:hyp|compounds:{'split' if split else 'kept'}"
        ),
        segments=len(hypotheses),
        precisions=_percent(result.precisions),
        brevity_penalty=result.brevity_penalty,
        hypothesis_length=result.hypothesis_length,
        reference_length=result.reference_length,
    )


def _score_t2t(
    hypotheses: list[str],
    references: list[str],
    target_language: str,
    moses_form: Form,
    case_sensitive: bool,
) -> Score:
    result = t2t_bleu(hypotheses, references, case_sensitive)
    case = "mixed" if case_sensitive else "lower"
    return Score(
        measure="t2t_cased" if case_sensitive else "t2t_uncased",
        score=100 * result.score,
        signature=f"eval:t2t-bleu|case:{case}|tok:t2t-unicode-11|smooth:halving",
        segments=len(hypotheses),
        precisions=_percent(result.precisions),
        brevity_penalty=result.brevity_penalty,
        hypothesis_length=result.hypothesis_length,
        reference_length=result.reference_length,
    )


def _score_sacrebleu(
    hypotheses: list[str], references: list[str], target_language: str, moses_form: Form
) -> Score:
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(trg_lang=target_language)
    result = metric.corpus_score(hypotheses, [references])
    return Score(
        measure="sacrebleu",
        score=result.score,
        signature=str(metric.get_signature()),
        segments=len(hypotheses),
        precisions=tuple(result.precisions),
        brevity_penalty=result.bp,
        hypothesis_length=result.sys_len,
        reference_length=result.ref_len,
    )


def _score_chrf(
    hypotheses: list[str], references: list[str], target_language: str, moses_form: Form
) -> Score:
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()
    result = metric.corpus_score(hypotheses, [references])
    return Score(
        measure="chrf",
        score=result.score,
        signature=str(metric.get_signature()),
        segments=len(hypotheses),
    )


def _percent(fractions: Iterable[float]) -> tuple[float, ...]:
    return tuple(100 * fraction for fraction in fractions)


_SCORERS: dict[str, Callable[[list[str], list[str], str, Form], Score]] = {
    "paper": partial(_score_moses, measure="paper"),
    "moses": partial(_score_moses, measure="moses"),
    "t2t_uncased": partial(_score_t2t, case_sensitive=False),
    "t2t_cased": partial(_score_t2t, case_sensitive=True),
    "sacrebleu": _score_sacrebleu,
    "chrf": _score_chrf,
}
MEASURES = tuple(_SCORERS)
