"""EVALB's parameters: the two common sets, and the reader of .prm files.

COLLINS is what nearly all published figures use; NEW also deletes S1, `?` and `!` and knows the
tags under which a quotation mark may have been deleted by mistake.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from pathlib import Path

from keras_transformer.errors import UserError
from keras_transformer.text.lines import PathLike

# White space as C's isspace sees bytes: no-break spaces and the like are parts of words.
ASCII_WHITE_SPACE = " \t\n\v\f\r"


@dataclass(frozen=True)
class EvalbParameters:
    """What is compared and what is left out.

    Attributes:
        name: the set's name or the file's.
        max_error: EVALB stops at message number `max_error + 2`.
        cutoff_length: the second block of figures holds sentences of at most so many words.
        labeled: whether labels must agree, or only the spans.
        deleted_labels: words under these tags, and brackets with these labels, are left out.
        deleted_for_length: words under these tags do not count towards a sentence's length.
        quote_labels: tags under which `'`, `"` and `/` are put back if word counts differ.
        equal_labels: pairs of labels or tags that count as the same, either way round.
        equal_words: pairs of words that count as the same.
        warnings: lines of the file that mean nothing to EVALB.
    """

    name: str = "none"
    max_error: int = 10
    cutoff_length: int = 40
    labeled: bool = True
    deleted_labels: tuple[str, ...] = ()
    deleted_for_length: frozenset[str] = frozenset()
    quote_labels: frozenset[str] = frozenset()
    equal_labels: frozenset[tuple[str, str]] = frozenset()
    equal_words: frozenset[tuple[str, str]] = frozenset()
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def same_label(self, one: str, other: str) -> bool:
        """Whether two labels or tags count as equal."""
        return one == other or (one, other) in self.equal_labels

    def same_word(self, one: str, other: str) -> bool:
        """Whether two words count as equal."""
        return one == other or (one, other) in self.equal_words

    def deletes_bracket(self, label: str) -> bool:
        """Whether a bracket is left out; unlike a word's tag, equal labels go with it."""
        return any(self.same_label(label, deleted) for deleted in self.deleted_labels)


COLLINS = EvalbParameters(
    name="COLLINS.prm",
    deleted_labels=("TOP", "-NONE-", ",", ":", "``", "''", "."),
    deleted_for_length=frozenset({"-NONE-"}),
    equal_labels=frozenset({("ADVP", "PRT"), ("PRT", "ADVP")}),
)
NEW = dataclasses.replace(
    COLLINS,
    name="new.prm",
    deleted_labels=("TOP", "S1", "-NONE-", ",", ":", "``", "''", ".", "?", "!"),
    quote_labels=frozenset({"``", "''", "POS", "NN", "CD", "VBZ", ":"}),
)
_BUILT_IN = {"collins": COLLINS, "new": NEW}


def parameters(name: str) -> EvalbParameters:
    """A built-in set (`COLLINS`, `new`, with or without `.prm`) or that of a file.

    A file of that name in the working directory goes before a built-in set.

    Raises:
        UserError: if it is neither, or a value in the file is no number where one is needed.
    """
    if Path(name).is_file():
        return read_parameters(name)
    built_in = _BUILT_IN.get(name.lower().removesuffix(".prm"))
    if built_in is None:
        raise UserError(f"{name}: no such parameter file; the built-in sets are COLLINS and new")
    return built_in


def read_parameters(path: PathLike) -> EvalbParameters:
    """Reads a .prm file as EVALB does: a key, white space, a value; `#` begins a comment line.

    A key that EVALB does not know, or a pair that is none, is left out with a warning.

    Raises:
        UserError: if the file cannot be read or a number is none.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8", errors="surrogateescape")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error
    return _ParameterReader(path).read(text)


class _ParameterReader:
    _NUMBERS = ("DEBUG", "MAX_ERROR", "CUTOFF_LEN", "LABELED")
    _LISTS = ("DELETE_LABEL", "DELETE_LABEL_FOR_LENGTH", "QUOTE_LABEL")
    _PAIRS = ("EQ_LABEL", "EQ_WORD")
    _LINE = re.compile(f"([^{ASCII_WHITE_SPACE}]*)[{ASCII_WHITE_SPACE}]*(.*)", re.DOTALL)
    _NUMBER = re.compile("[+-]?[0-9]+")  # as C's atoi: what stands behind it does not matter
    _MEMBER = re.compile(f"[^{ASCII_WHITE_SPACE}]+")

    def __init__(self, path: Path):
        self.path = path
        self.numbers: dict[str, int] = {}
        self.lists: dict[str, list[str]] = {key: [] for key in self._LISTS}
        self.pairs: dict[str, set[tuple[str, str]]] = {key: set() for key in self._PAIRS}
        self.warnings: list[str] = []

    def read(self, text: str) -> EvalbParameters:
        for number, line in enumerate(text.split("\n"), start=1):
            line = line.rstrip(ASCII_WHITE_SPACE)
            if len(line) >= 3 and not line.startswith("#"):
                self._set(number, line)
        return EvalbParameters(
            name=self.path.name,
            max_error=self.numbers.get("MAX_ERROR", 10),
            cutoff_length=self.numbers.get("CUTOFF_LEN", 40),
            labeled=self.numbers.get("LABELED", 1) != 0,
            deleted_labels=tuple(self.lists["DELETE_LABEL"]),
            deleted_for_length=frozenset(self.lists["DELETE_LABEL_FOR_LENGTH"]),
            quote_labels=frozenset(self.lists["QUOTE_LABEL"]),
            equal_labels=frozenset(self.pairs["EQ_LABEL"]),
            equal_words=frozenset(self.pairs["EQ_WORD"]),
            warnings=tuple(self.warnings),
        )

    def _set(self, number: int, line: str) -> None:
        match = self._LINE.match(line)
        key, value = match.groups() if match else ("", line)
        where = f"{self.path}, line {number}"
        if key in self._NUMBERS:
            number_at_start = self._NUMBER.match(value)
            if not number_at_start:
                raise UserError(f"{where}: {key} is {value!r}: it must be a whole number")
            self.numbers[key] = int(number_at_start[0])
        elif key in self._LISTS:
            if value:
                self.lists[key].append(value)
            else:
                self.warnings.append(f"{where}: {key} needs a value; the line is left out")
        elif key in self._PAIRS:
            members = self._MEMBER.findall(value)
            if len(members) == 2:
                one, other = members
                self.pairs[key] |= {(one, other), (other, one)}
            else:
                self.warnings.append(f"{where}: {key} needs two values; the line is left out")
        else:
            self.warnings.append(f"{where}: unknown keyword {key!r}; the line is left out")
