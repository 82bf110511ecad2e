"""What values of hyperparameters are allowed, each alone and all together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keras_transformer.config_parsing import nearest
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.config import HParams

SCHEDULE_FACTORS = (
    "constant",
    "cosdecay",
    "exp_decay",
    "legacy",
    "linear_decay",
    "linear_warmup",
    "multi_cycle_cos_decay",
    "rsqrt_decay",
    "rsqrt_hidden_size",
    "rsqrt_normalized_decay",
    "single_cycle_cos_decay",
)


def check_bounds(name: str, value: Any, rules: Mapping[str, Any]) -> None:
    """Refuses a value that a field's own rules exclude.

    Args:
      name: of the field.
      value: of the declared type; None where it may be None.
      rules: `choices` (empty: any), and the bounds `at_least`, `above`, `below` (None: none).

    Raises:
      UserError: see above.
    """
    choices = rules["choices"]
    if choices and value not in choices:
        allowed = [str(choice) for choice in choices]
        raise UserError(
            f"{name} is {value!r}: only {' or '.join(allowed)} is offered"
            f"{nearest(str(value), allowed)}"
        )
    if value is None:
        return
    if rules["at_least"] is not None and value < rules["at_least"]:
        raise UserError(f"{name} is {value}: it must be at least {rules['at_least']}")
    if rules["above"] is not None and value <= rules["above"]:
        raise UserError(f"{name} is {value}: it must be above {rules['above']}")
    if rules["below"] is not None and value >= rules["below"]:
        raise UserError(f"{name} is {value}: it must be below {rules['below']}")


def check_together(hp: HParams) -> None:
    """Refuses values that are at odds with one another, and words that no list of choices holds.

    Raises:
      UserError: see above.
    """
    for name in ("attention_key_channels", "attention_value_channels"):
        width_name = name if getattr(hp, name) else "hidden_size"
        width = getattr(hp, width_name)
        if width % hp.num_heads:
            raise UserError(
                f"{width_name} is {width}, num_heads is {hp.num_heads}: "
                "the first must be a multiple of the second"
            )
    for name, letters in (
        ("layer_preprocess_sequence", "nd"),
        ("layer_postprocess_sequence", "nda"),
    ):
        sequence = getattr(hp, name)
        if sequence != "none" and not set(sequence) <= set(letters):
            raise UserError(
                f"{name} is {sequence!r}: it must be none or made of the letters {letters}"
            )
    for name in hp.to_dict():
        if name.endswith("_broadcast_dims"):
            hp.broadcast_axes(name)
    for factor in hp.learning_rate_schedule.split("*"):
        if factor.strip() not in SCHEDULE_FACTORS:
            raise UserError(
                f"learning_rate_schedule is {hp.learning_rate_schedule!r}: {factor!r} is none"
                f" of {', '.join(SCHEDULE_FACTORS)}{nearest(factor, SCHEDULE_FACTORS)}"
            )
    if hp.pos == "emb" and not hp.max_length:
        raise UserError("pos is emb, max_length is 0: learned positions need a max_length")
    if hp.max_length and hp.min_length > hp.max_length:
        raise UserError(
            f"min_length is {hp.min_length}, max_length is {hp.max_length}: "
            "the first must not exceed the second"
        )


def parse_axes(name: str, text: str) -> tuple[int, ...]:
    """The numbers of `0,1`.

    Raises:
      UserError: something else stands between the commas.
    """
    try:
        return tuple(int(axis) for axis in text.split(",") if text)
    except ValueError:
        raise UserError(f"{name} is {text!r}: write axes with commas between, as in 0,1") from None
