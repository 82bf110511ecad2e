"""A translation as one line of a file: text, T2T's tab-separated beams, ids, or JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

from keras_transformer.decoding.translation import Hypothesis, Translation
from keras_transformer.errors import UserError

FORMATS = ("text", "json")


@dataclass(frozen=True)
class OutputFormat:
    """How outputs are written; names are T2T's.

    Attributes:
        return_beams: all outputs of a sentence in its line, tabs between; the same number of
            columns in every line.
        write_beam_scores: each output followed by a tab and its score with two decimals (T2T: only
            with return_beams).
        identity_output: ids with blanks between instead of text.
        kind: `text`, or `json`: one object a line, see `json_line`.

    Raises:
        UserError: settings that contradict each other.
    """

    return_beams: bool = False
    write_beam_scores: bool = False
    identity_output: bool = False
    kind: str = "text"

    def __post_init__(self) -> None:
        if self.kind not in FORMATS:
            raise UserError(f"the format is {self.kind!r}: give one of {', '.join(FORMATS)}")
        if self.write_beam_scores and not self.return_beams:
            raise UserError(
                "write_beam_scores=True needs return_beams=True, as in T2T; for the score of the"
                " best output alone add beam_size and n_best=1, or ask for JSON"
            )

    def line(self, translation: Translation, number: int, n_best: int) -> str:
        """The line of a sentence, without its line end.

        Args:
            translation: what was found.
            number: of the sentence, from 1.
            n_best: outputs wanted, which is the number of columns.
        """
        if self.kind == "json":
            return json_line(translation, number)
        if not self.return_beams:
            return self._words(translation.best)
        columns = []
        for rank in range(n_best):
            hypothesis = translation.n_best[rank] if rank < len(translation.n_best) else None
            columns.append(self._words(hypothesis).replace("\t", " ") if hypothesis else "")
            if self.write_beam_scores:
                # T2T's score of a place without a hypothesis.
                columns.append(f"{hypothesis.score if hypothesis else -1e7:.2f}")
        return "\t".join(columns)

    def _words(self, hypothesis: Hypothesis) -> str:
        if self.identity_output:
            return " ".join(str(symbol) for symbol in hypothesis.ids)
        return hypothesis.text


def json_line(translation: Translation, number: int) -> str:
    """One JSON object: `line`, `source`, `text` and `n_best`, a list of objects with `rank`,
    `text`, `score`, `log_probability`, `length`, `finished`, `ids` (see `Hypothesis`)."""
    n_best = [
        {
            "rank": rank,
            "text": hypothesis.text,
            "score": round(hypothesis.score, 6),
            "log_probability": round(hypothesis.log_probability, 6),
            "length": hypothesis.length,
            "finished": hypothesis.finished,
            "ids": list(hypothesis.ids),
        }
        for rank, hypothesis in enumerate(translation.n_best, start=1)
    ]
    return json.dumps(
        {"line": number, "source": translation.source, "text": translation.text, "n_best": n_best},
        ensure_ascii=False,
    )
