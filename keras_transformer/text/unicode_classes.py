"""The two classes of characters that the tokenizer knows, frozen at one Unicode version.

A character is alphanumeric if its general category starts with L or N: letters of all kinds and
all numbers. Everything else (white space, punctuation, symbols, controls, combining marks) is the
other class. Tensor2Tensor asked the running Python, so that a code point assigned later changed
its class, and with it the ids of a text, with the interpreter. Here the table is Unicode 11.0.0,
that of Python 3.7 under which Tensor2Tensor 1.15.7 ran, whatever Python runs this.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

UNICODE_VERSION = "11.0.0"
"""Version of the frozen table; worth writing down beside a vocabulary."""

_TABLE = Path(__file__).with_name("alphanumeric_unicode_11.json")

_LAST_CODE_POINT = 0x10FFFF

Range = tuple[int, int]


@functools.cache
def alphanumeric_ranges() -> tuple[Range, ...]:
    """Ranges of alphanumeric code points in rising order, both ends included."""
    table = json.loads(_TABLE.read_text(encoding="ascii"))
    return tuple((first, last) for first, last in table["ranges"])


@functools.cache
def other_ranges() -> tuple[Range, ...]:
    """Ranges of all other code points in rising order, both ends included."""
    ranges = []
    start = 0
    for first, last in alphanumeric_ranges():
        if start < first:
            ranges.append((start, first - 1))
        start = last + 1
    ranges.append((start, _LAST_CODE_POINT))
    return tuple(ranges)
