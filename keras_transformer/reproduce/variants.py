"""The rows of Table 3 relative to any base: what a row changes, in proportion to the paper's base.

A row of the paper changes the size of a part (heads, key width, layers, width, feed-forward width),
or a rate (dropout, label smoothing), or the positions. Over another base

- a size changes by the same factor: C1 has 2 of 6 layers, so 1 of 3; B1 a quarter of the key width;
  A1, which has one head of 8, has one head whatever the base has;
- a rate and the kind of positions are the paper's own;
- `big` takes all its factors at once, and its dropout.

A factor of a small number may give no whole number; it is rounded to the nearest, at least 1. A row
that would then be the base again, or the same as a row before it, cannot be told apart over that
base and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from keras_transformer import registry
from keras_transformer.config import HParams
from keras_transformer.errors import UserError
from keras_transformer.hparams.table3 import PREFIX, ROWS

PAPERS_BASE = "base"
_SIZES = {"num_heads", "attention_key_channels", "num_hidden_layers", "hidden_size", "filter_size"}
# The paper's symbols, for a narrow table.
_SYMBOLS = {
    "num_heads": "h",
    "num_hidden_layers": "N",
    "hidden_size": "d_model",
    "filter_size": "d_ff",
    "layer_prepostprocess_dropout": "P_drop",
    "label_smoothing": "smoothing",
}


@dataclass(frozen=True)
class Variant:
    """A row over a base.

    Attributes:
        row: its name in Table 3.
        hparams: the settings.
        hparams_set: the registered set, or that of the base the settings are derived from.
        change: what differs from the base, in the paper's symbols.
        rounded: how a factor was rounded, for the reader; "" where it was exact.
    """

    row: str
    hparams: HParams
    hparams_set: str
    change: str
    rounded: str = ""


def variant(row: str, base_set: str = PAPERS_BASE, overrides: str = "") -> Variant:
    """The settings of a row.

    Args:
        row: a name in `hparams.table3.ROWS`.
        base_set: the set that takes the place of the paper's base.
        overrides: changes of the base, `batch_size=1024,…`; what the row itself changes wins.

    Raises:
        UserError: an unknown row, set or hyperparameter, or a row that this base cannot show.
    """
    if row not in ROWS:
        raise UserError(f"row {row!r} is not in Table 3: it has {', '.join(ROWS)}")
    base = registry.hparams(base_set, overrides)
    if base_set == PAPERS_BASE:
        paper = registry.hparams(f"{PREFIX}{row}")
        changes = {name: mine for name, mine, _ in paper.differences(_papers_base())}
        hp = base.derive(f"paper Table 3, {row}", **changes)
        return Variant(row, hp, f"{PREFIX}{row}", _in_words(row, hp, changes))
    changes, rounded = _scaled_changes(row, base)
    for other in list(ROWS)[: list(ROWS).index(row)]:
        if changes and _scaled_changes(other, base)[0] == changes:
            raise UserError(
                f"row {row} over {base_set} would be the same as row {other} ({rounded}): leave it"
                " out, or take a base with larger numbers"
            )
    if row != PAPERS_BASE and all(getattr(base, name) == new for name, new in changes.items()):
        same = ", ".join(f"{name}={new}" for name, new in changes.items())
        raise UserError(
            f"row {row} over {base_set} would be {base_set} itself ({same}): leave the row out, or"
            " take another base"
        )
    hp = base.derive(f"paper Table 3, {row}, in proportion", **changes)
    return Variant(row, hp, base_set, _in_words(row, hp, changes), rounded)


def _papers_base() -> HParams:
    return registry.hparams(f"{PREFIX}base")


def _scaled_changes(row: str, base: HParams) -> tuple[dict[str, Any], str]:
    """The row's changes for a base of another size, and what had to be rounded."""
    paper, papers_base = registry.hparams(f"{PREFIX}{row}"), _papers_base()
    changes: dict[str, Any] = {}
    rounded = []
    for name, value, _ in paper.differences(papers_base):
        if name not in _SIZES:
            changes[name] = value
            continue
        whole, own = (_size(name, hp) for hp in (papers_base, base))
        exact = own * _size(name, paper) / whole
        # One head is one head, however few the base has.
        changes[name] = 1 if value == 1 else max(1, round(exact))
        if changes[name] != exact and value != 1:
            symbol = _SYMBOLS.get(name, name)
            rounded.append(f"{value}/{whole} of {symbol}={own} is {exact:.2f}: {changes[name]}")
    return changes, "; ".join(rounded)


def _size(name: str, hp: HParams) -> int:
    # 0 stands for the model's width there.
    return hp.key_width if name == "attention_key_channels" else int(getattr(hp, name))


def _in_words(row: str, hp: HParams, changes: dict[str, Any]) -> str:
    if row == "big":
        return "the big shape"
    words = []
    for name, value in changes.items():
        if name == "attention_key_channels":
            words.append(f"d_k={value // hp.num_heads}")
        elif name == "pos":
            words.append("learned positions")
        else:
            words.append(f"{_SYMBOLS.get(name, name)}={value}")
    return ", ".join(words)
