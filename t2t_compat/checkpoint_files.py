"""Finding and opening TF1 checkpoints (and the variables of a SavedModel) without any graph."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.errors import UserError

_DATA_FILE = re.compile(r"^(?P<prefix>.+)\.data-(?P<index>\d{5})-of-(?P<count>\d{5})$")


def find_checkpoint(path: str | Path) -> Path:
    """The prefix of the checkpoint meant by a path.

    Args:
        path: a prefix (`…/model.ckpt-250`), its `.index` file, a run directory (the checkpoint its
            `checkpoint` file names, wherever that file was written; else the one of the highest
            step), or a SavedModel directory.

    Raises:
        UserError: nothing is there, or one of the checkpoint's data files is missing.
    """
    place = Path(path)
    if place.is_dir():
        prefix = _in_directory(place)
    elif place.name.endswith(".index") and place.is_file():
        prefix = place.with_name(place.name[: -len(".index")])
    else:
        prefix = place
    if not prefix.with_name(prefix.name + ".index").is_file() and not prefix.is_file():
        beside = sorted(p.name[: -len(".index")] for p in prefix.parent.glob("*.index"))
        found = f"; found there: {', '.join(beside)}" if beside else ""
        raise UserError(
            f"{path} is no checkpoint: {prefix.name}.index is missing in {prefix.parent}{found}"
        )
    _check_data_files(prefix)
    return prefix


def _in_directory(folder: Path) -> Path:
    if (folder / "saved_model.pb").is_file() or (folder / "saved_model.pbtxt").is_file():
        return folder / "variables" / "variables"
    state = folder / "checkpoint"
    if state.is_file():
        text = state.read_text(encoding="utf-8", errors="replace")
        match = re.search(r'^model_checkpoint_path:\s*"([^"]+)"', text, re.MULTILINE)
        if match:
            # T2T may have written the path of another machine; only its last part counts here.
            named = folder / re.split(r"[\\/]", match[1])[-1]
            if named.with_name(named.name + ".index").is_file():
                return named
    by_step = {}
    for index in folder.glob("*.ckpt-*.index"):
        step = index.name[: -len(".index")].rpartition("-")[2]
        if step.isdigit():
            by_step[int(step)] = index.with_name(index.name[: -len(".index")])
    if not by_step:
        raise UserError(
            f"{folder} holds no checkpoint (model.ckpt-<step>.index);"
            " name one with --checkpoint_path"
        )
    return by_step[max(by_step)]


def _check_data_files(prefix: Path) -> None:
    found: dict[int, set[int]] = {}
    for file in prefix.parent.glob(prefix.name + ".data-*"):
        match = _DATA_FILE.match(file.name)
        if match and match["prefix"] == prefix.name:
            found.setdefault(int(match["count"]), set()).add(int(match["index"]))
    if not found and prefix.is_file():
        return  # the first Saver format, one file
    if not found:
        raise UserError(f"{prefix}: there is an .index file but no .data file; copy it beside")
    for count, indices in found.items():
        missing = sorted(set(range(count)) - indices)
        if missing and count == max(found):
            names = ", ".join(f"{prefix.name}.data-{i:05d}-of-{count:05d}" for i in missing)
            raise UserError(f"{prefix}: data file missing: {names}; copy it beside the others")


class CheckpointReader:
    """The variables of a checkpoint by name, read one at a time.

    Raises:
        UserError: the checkpoint is missing, truncated or damaged.
    """

    def __init__(self, path: str | Path):
        import tensorflow as tf

        self.prefix = find_checkpoint(path)
        self._error = tf.errors.OpError
        try:
            self._reader = tf.train.load_checkpoint(str(self.prefix))
            self.shapes: dict[str, tuple[int, ...]] = {
                name: tuple(shape)
                for name, shape in self._reader.get_variable_to_shape_map().items()
            }
            self._dtypes = self._reader.get_variable_to_dtype_map()
        except (tf.errors.OpError, RuntimeError, ValueError) as error:
            raise self._damaged(error) from None
        if not self.shapes:
            raise UserError(f"{self.prefix} is a checkpoint without any variable; take another one")
        self._check_size()

    def _check_size(self) -> None:
        """The data files must be as long as the index says: a copy cut short is found at once."""
        wanted = sum(
            math.prod(shape) * self._dtypes[name].size
            for name, shape in self.shapes.items()
            if self._dtypes[name].is_numpy_compatible and self._dtypes[name].name != "string"
        )
        files = [
            file
            for file in self.prefix.parent.glob(self.prefix.name + ".data-*")
            if _DATA_FILE.match(file.name)
        ]
        present = sum(file.stat().st_size for file in files)
        if files and present < wanted:
            raise UserError(
                f"{self.prefix}: its data files have {present:,} bytes, but its variables take"
                f" {wanted:,}: they were cut short; copy them again"
            )

    def _damaged(self, error: Exception, name: str = "") -> UserError:
        what = f", variable {name}" if name else ""
        reason = str(error).split("\n")[0][:200]
        return UserError(
            f"{self.prefix}{what} cannot be read, the file is damaged or cut short ({reason});"
            " copy it again or take another checkpoint"
        )

    def __contains__(self, name: str) -> bool:
        return name in self.shapes

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.shapes))

    def dtype(self, name: str) -> Any:
        """The stored `tf.DType`."""
        return self._dtypes[name]

    def tensor(self, name: str) -> np.ndarray:
        """One variable's value; its checksum is verified."""
        try:
            return self._reader.get_tensor(name)
        except (self._error, RuntimeError, ValueError) as error:
            raise self._damaged(error, name) from None

    @property
    def step(self) -> int:
        """`global_step`, or the number in the file's name, or 0."""
        if "global_step" in self.shapes:
            return int(self.tensor("global_step"))
        tail = self.prefix.name.rpartition("-")[2]
        return int(tail) if tail.isdigit() else 0
