"""Override strings and typed values of hyperparameters.

`batch_size=1024,num_heads=4` as T2T's `--hparams` reads it: pairs separated by commas, spaces
ignored. A value's type is the declared type of the hyperparameter, never that of its present
value, so one whose default is None can be set too.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from typing import Any

from keras_transformer.errors import UserError

# The values of these are themselves lists of axes with commas between, as in "0,1".
_AXES_SUFFIX = "_broadcast_dims"
_AXIS = re.compile(r"-?\d+")
_NAME = re.compile(r"[A-Za-z]\w*")
_TRUE = {"true": True, "1": True, "false": False, "0": False}
_A = {"int": "an integer", "float": "a number", "bool": "true or false", "str": "a string"}


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for the known name most like `name`, or nothing where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def split_overrides(overrides: str) -> dict[str, str]:
    """Splits `a=b,c=d` into names and value strings.

    An axes hyperparameter takes its commas bare or in brackets: `relu_dropout_broadcast_dims=0,1`
    and `relu_dropout_broadcast_dims=[0,1]` both give "0,1".

    Raises:
      UserError: a name without a value, a value without a name, or a name given twice.
    """
    pairs: dict[str, str] = {}
    last = ""
    for piece in re.split(r",(?![^\[]*\])", overrides):
        piece = piece.strip()
        if not piece:
            continue
        name, equals, value = (part.strip() for part in piece.partition("="))
        if not equals:
            if last.endswith(_AXES_SUFFIX) and _AXIS.fullmatch(piece):
                pairs[last] += f",{piece}"
                continue
            raise UserError(
                f"override {piece!r} has no value: write NAME=VALUE, several with commas between"
            )
        if not _NAME.fullmatch(name):
            raise UserError(f"override {piece!r}: {name!r} is not a hyperparameter's name")
        if name in pairs:
            raise UserError(
                f"{name} is given twice, as {pairs[name]} and as {value}: leave one of them out"
            )
        if name.endswith(_AXES_SUFFIX) and value.startswith("[") and value.endswith("]"):
            value = value[1:-1].replace(" ", "")
        pairs[name] = value
        last = name
    return pairs


def parse_value(name: str, declared: str, text: str) -> Any:
    """The value of `text` as the declared type, one of int, float, bool, str or `… | None`.

    Raises:
      UserError: the text is not of that type.
    """
    kind = declared.removesuffix(" | None")
    if kind != declared and text.lower() == "none":
        return None
    if kind == "str":
        return text
    try:
        if not text:
            raise ValueError
        if kind == "bool":
            return _TRUE[text.lower()]
        return int(text) if kind == "int" else _finite(float(text))
    except (ValueError, KeyError):
        raise UserError(f"{name} is {text!r}, which is not {_A[kind]}") from None


def check_type(name: str, declared: str, value: Any) -> Any:
    """`value` if it is of the declared type; whole numbers pass between int and float.

    Raises:
      UserError: the value is of another type.
    """
    kind = declared.removesuffix(" | None")
    if kind != declared and value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "float" and is_number and math.isfinite(value):
        return float(value)
    if kind == "int" and is_number and math.isfinite(value) and value == int(value):
        return int(value)
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "str" and isinstance(value, str):
        return value
    raise UserError(f"{name} is {value!r}, which is not {_A[kind]}")


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError
    return number
