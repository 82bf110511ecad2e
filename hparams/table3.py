"""Every row of the paper's Table 3 as a set, each stating only what differs from `base`.

`ROWS` also holds what the paper prints: perplexity per subword and BLEU on newstest2013 without
checkpoint averaging (beam 4, alpha 0.6), and millions of parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from keras_transformer.config import HParams
from keras_transformer.registry import register_hparams

from .paper import base, big

PREFIX = "table3_"


@dataclass(frozen=True)
class Row:
    """One row of Table 3.

    Attributes:
      name: the row's letter and number; the set is `table3_<name>`.
      changes: hyperparameters that differ from `base`; the big row has the set `big` instead.
      perplexity: printed, per subword, development set.
      bleu: printed, development set.
      parameters: printed, in millions; None where the table leaves it blank.
      steps: training steps.
    """

    name: str
    perplexity: float
    bleu: float
    parameters: int | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    steps: int = 100_000


ROWS: dict[str, Row] = {
    row.name: row
    for row in (
        Row("base", 4.92, 25.8, 65),
        # Heads; d_k and d_v follow, as their total stays the width.
        Row("A1", 5.29, 24.9, changes={"num_heads": 1}),
        Row("A2", 5.00, 25.5, changes={"num_heads": 4}),
        Row("A3", 4.91, 25.8, changes={"num_heads": 16}),
        Row("A4", 5.01, 25.4, changes={"num_heads": 32}),
        # d_k of 16 and 32 in each of 8 heads.
        Row("B1", 5.16, 25.1, 58, {"attention_key_channels": 128}),
        Row("B2", 5.01, 25.4, 60, {"attention_key_channels": 256}),
        # Depth, width (d_k and d_v follow), feed-forward width.
        Row("C1", 6.11, 23.7, 36, {"num_hidden_layers": 2}),
        Row("C2", 5.19, 25.3, 50, {"num_hidden_layers": 4}),
        Row("C3", 4.88, 25.5, 80, {"num_hidden_layers": 8}),
        Row("C4", 5.75, 24.5, 28, {"hidden_size": 256}),
        Row("C5", 4.66, 26.0, 168, {"hidden_size": 1024}),
        Row("C6", 5.12, 25.4, 53, {"filter_size": 1024}),
        Row("C7", 4.75, 26.2, 90, {"filter_size": 4096}),
        # Residual dropout, label smoothing.
        Row("D1", 5.77, 24.6, changes={"layer_prepostprocess_dropout": 0.0}),
        Row("D2", 4.95, 25.5, changes={"layer_prepostprocess_dropout": 0.2}),
        Row("D3", 4.67, 25.3, changes={"label_smoothing": 0.0}),
        Row("D4", 5.47, 25.7, changes={"label_smoothing": 0.2}),
        # Learned positions in place of sinusoids.
        Row("E", 4.92, 25.7, changes={"pos": "emb"}),
        Row("big", 4.33, 26.4, 213, steps=300_000),
    )
}


def _register_row(row: Row) -> None:
    def table3_row() -> HParams:
        if row.name == "big":
            return big()
        return base().derive(f"paper Table 3, {row.name}", **row.changes)

    stated = ", ".join(f"{name}={value}" for name, value in row.changes.items())
    table3_row.__doc__ = f"Table 3, row {row.name}: {stated or 'the recipe of that name'}."
    table3_row.__name__ = f"{PREFIX}{row.name}"
    register_hparams(f"{PREFIX}{row.name}")(table3_row)


for _row in ROWS.values():
    _register_row(_row)
