"""Checkpoints: tensor bundles with one plain name per tensor.

    model.ckpt-<step>.index, model.ckpt-<step>.data-00000-of-00001
        <the model's variable names>            encoder/layer_0/self_attention/query/kernel …
        optimizer/<slot>/<variable>             the optimizer's state
        global_step                             int64: updates done
        train_state                             a JSON object as a string: seed, best score …
        data_iterator                           position in the data, as `tf.data` serialises it
    checkpoint                                  the text file TensorFlow knows; written last

Any TensorFlow reads them by name (`tf.train.load_checkpoint`), as it reads T2T's; T2T's own, of one
or several data files, are read by the same functions. A file is written under a temporary name,
flushed to disk and renamed, index last, and only then listed in `checkpoint`: a killed write leaves
nothing that a later run would trust.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from keras_transformer.errors import UserError

if TYPE_CHECKING:
    import keras

logger = logging.getLogger(__name__)

PREFIX = "model.ckpt"
LIST_FILE = "checkpoint"
GLOBAL_STEP = "global_step"
TRAIN_STATE = "train_state"
DATA_ITERATOR = "data_iterator"
OPTIMIZER = "optimizer/"

# What a checkpoint of ours holds besides the model's variables.
OTHERS = (GLOBAL_STEP, TRAIN_STATE, DATA_ITERATOR)


class DamagedCheckpointError(UserError):
    """A checkpoint whose bytes cannot be read back; the one before it may still be whole."""


_STEP = re.compile(r"-(\d+)$")
_READ_ERRORS = (tf.errors.OpError, ValueError, RuntimeError, OSError)


def step_of(prefix: str | os.PathLike[str]) -> int:
    """The step at the end of a checkpoint's name.

    Raises:
        UserError: the name does not end in -<step>.
    """
    found = _STEP.search(str(prefix))
    if not found:
        raise UserError(f"{prefix} is not the name of a checkpoint: it must end in -<step>")
    return int(found.group(1))


class Reader:
    """The tensors of one checkpoint, read one at a time.

    Attributes:
        prefix: path without `.index`.

    Raises:
        UserError: there is no such checkpoint, or its index cannot be read.
    """

    def __init__(self, prefix: str | os.PathLike[str]):
        self.prefix = str(prefix).removesuffix(".index")
        if not os.path.isfile(self.prefix + ".index"):
            raise UserError(
                f"{self.prefix}: there is no such checkpoint (no file {self.prefix}.index)"
            )
        try:
            self._reader = tf.train.load_checkpoint(self.prefix)
            self._shapes = self._reader.get_variable_to_shape_map()
            self._dtypes = self._reader.get_variable_to_dtype_map()
        except _READ_ERRORS as error:
            raise DamagedCheckpointError(
                f"{self.prefix}: the checkpoint is damaged: {_first(error)}"
            ) from None

    def names(self) -> list[str]:
        """Names of all tensors, sorted."""
        return sorted(self._shapes)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor, without reading it."""
        return tuple(self._shapes[name])

    def dtype(self, name: str) -> tf.DType:
        """Type of a tensor, without reading it."""
        return self._dtypes[name]

    def __contains__(self, name: str) -> bool:
        return name in self._shapes

    def tensor(self, name: str) -> np.ndarray:
        """One tensor; its checksum is verified.

        Raises:
            UserError: it is not there, or its bytes are damaged.
        """
        if name not in self._shapes:
            raise UserError(f"{self.prefix} holds no tensor {name}")
        try:
            return self._reader.get_tensor(name)
        except _READ_ERRORS as error:
            raise DamagedCheckpointError(
                f"{self.prefix}: the tensor {name} is damaged: {_first(error)}"
            ) from None

    def variant(self, name: str) -> tf.Tensor:
        """A serialised data iterator, which NumPy cannot hold."""
        try:
            return tf.raw_ops.RestoreV2(
                prefix=self.prefix, tensor_names=[name], shape_and_slices=[""], dtypes=[tf.variant]
            )[0]
        except _READ_ERRORS as error:
            raise DamagedCheckpointError(
                f"{self.prefix}: the tensor {name} is damaged: {_first(error)}"
            ) from None

    @property
    def global_step(self) -> int:
        """Updates done; from the name where the file does not say."""
        if GLOBAL_STEP in self:
            return int(self.tensor(GLOBAL_STEP))
        return step_of(self.prefix)

    @property
    def train_state(self) -> dict[str, Any]:
        """The JSON object stored beside the tensors; empty where there is none (T2T's)."""
        if TRAIN_STATE not in self:
            return {}
        text = self.tensor(TRAIN_STATE)
        # TensorFlow gives a scalar string as bytes, not as an array.
        return json.loads(text.decode("utf-8") if isinstance(text, bytes) else text.item())

    @property
    def is_inference_only(self) -> bool:
        """True for averaged weights, from which training must not go on."""
        return bool(self.train_state.get("inference_only"))


def read(prefix: str | os.PathLike[str]) -> Reader:
    """Opens a checkpoint by its prefix; see `Reader`."""
    return Reader(prefix)


def all_steps(run_dir: str | os.PathLike[str], prefix: str = PREFIX) -> list[int]:
    """Steps of the checkpoints in a folder whose files are all there, ascending."""
    pattern = re.compile(re.escape(prefix) + r"-(\d+)\.index$")
    steps = []
    for name in os.listdir(run_dir) if os.path.isdir(run_dir) else []:
        found = pattern.match(name)
        if found and _is_whole(os.path.join(run_dir, name.removesuffix(".index"))):
            steps.append(int(found.group(1)))
    return sorted(steps)


def path_of(run_dir: str | os.PathLike[str], step: int, prefix: str = PREFIX) -> str:
    """Prefix (path without ending) of the checkpoint of a step."""
    return os.path.join(run_dir, f"{prefix}-{step}")


def candidates(run_dir: str | os.PathLike[str]) -> Iterator[str]:
    """Prefixes to continue from, best first: the one `checkpoint` names, then the ones before it.

    Warns when the newest has to be passed over. A checkpoint newer than the one that is named was
    never finished, or the user went back on purpose.
    """
    steps = all_steps(run_dir)
    named = _named_in_list_file(run_dir)
    if named is not None and _STEP.search(named) and not os.path.basename(named).startswith(PREFIX):
        if _is_sound(named):
            yield named
        return
    newest = step_of(named) if named is not None else max(steps, default=-1)
    if named is not None and newest not in steps:
        logger.warning("%s is missing or cut off: trying the one before it", named)
    for step in reversed([step for step in steps if step <= newest]):
        candidate = path_of(run_dir, step)
        if _is_sound(candidate):
            yield candidate
        else:
            logger.warning("%s is damaged: trying the one before it", candidate)


def traces(run_dir: str | os.PathLike[str]) -> bool:
    """Whether a checkpoint was ever finished here: one is listed, or the index of one is there."""
    names = os.listdir(run_dir) if os.path.isdir(run_dir) else []
    index = re.compile(re.escape(PREFIX) + r"-\d+\.index$")
    return _named_in_list_file(run_dir) is not None or any(map(index.match, names))


def latest(run_dir: str | os.PathLike[str]) -> str | None:
    """Prefix of the newest checkpoint that is whole; None if there is none.

    Looks at the index and at the size of the data; checksums are verified where tensors are read.
    """
    return next(candidates(run_dir), None)


def save(
    run_dir: str | os.PathLike[str],
    step: int,
    tensors: Mapping[str, Any],
    train_state: Mapping[str, Any] | None = None,
    prefix: str = PREFIX,
    keep: int | None = None,
) -> str:
    """Writes the checkpoint of a step, whole or not at all.

    Args:
        run_dir: folder; made if need be.
        step: updates done; becomes `global_step` and the end of the name.
        tensors: name → variable, tensor or array. Variables are read here, without a copy on CPU.
        train_state: a JSON object to be kept beside them; None for none (T2T's checkpoints).
        prefix: first part of the file names.
        keep: how many of the newest to keep; None keeps all.

    Returns:
        The checkpoint's prefix.
    """
    os.makedirs(run_dir, exist_ok=True)
    final = path_of(run_dir, step, prefix)
    temporary = os.path.join(run_dir, f".{prefix}-{step}.{os.getpid()}.tmp")
    named = {name: _value(tensor) for name, tensor in tensors.items()}
    named[GLOBAL_STEP] = tf.constant(step, tf.int64)
    if train_state is not None:
        named[TRAIN_STATE] = tf.constant(json.dumps(dict(train_state)))
    names, values = list(named), list(named.values())
    try:
        with tf.device("CPU:0"):
            tf.raw_ops.SaveV2(
                prefix=temporary,
                tensor_names=names,
                shape_and_slices=[""] * len(names),
                tensors=[tf.identity(value) for value in values],
            )
    except tf.errors.OpError as error:
        raise UserError(f"{final} could not be written: {_first(error)}") from None
    data, index = ".data-00000-of-00001", ".index"
    for ending in (data, index):
        flush_to_disk(temporary + ending)
    # The old index goes first, so that it never stands beside another data file.
    if os.path.exists(final + index):
        os.remove(final + index)
    os.replace(temporary + data, final + data)
    os.replace(temporary + index, final + index)
    flush_to_disk(run_dir)
    kept = [s for s in all_steps(run_dir, prefix) if s <= step]
    dropped = kept[:-keep] if keep else []
    write_list_file(run_dir, [path_of("", s, prefix) for s in kept if s not in dropped])
    for old in dropped:
        remove(path_of(run_dir, old, prefix))
    return final


def write_list_file(run_dir: str | os.PathLike[str], names: Iterable[str]) -> None:
    """Writes TensorFlow's text file `checkpoint`; the last name is the newest."""
    listed = list(names)
    lines = [f'model_checkpoint_path: "{listed[-1]}"']
    lines += [f'all_model_checkpoint_paths: "{name}"' for name in listed]
    path = os.path.join(run_dir, LIST_FILE)
    temporary = os.path.join(run_dir, f".{LIST_FILE}.{os.getpid()}.tmp")
    with open(temporary, "w", encoding="utf-8", newline="\n") as stream:
        stream.write("\n".join(lines) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


def remove(prefix: str) -> None:
    """Deletes a checkpoint, index first, so that what is left is never taken for a whole one."""
    folder, base = os.path.split(prefix)
    if os.path.exists(prefix + ".index"):
        os.remove(prefix + ".index")
    for name in os.listdir(folder or "."):
        if name.startswith(base + ".data-"):
            os.remove(os.path.join(folder, name))


def remove_temporary(run_dir: str | os.PathLike[str]) -> None:
    """Deletes what killed writes left; only the one trainer of a run directory may call it."""
    for name in os.listdir(run_dir):
        if re.match(r"\..+\.\d+\.tmp", name):
            os.remove(os.path.join(run_dir, name))


def load_variables(
    variables: Mapping[str, keras.Variable | tf.Variable],
    reader: Reader,
    ignore: Iterable[str] = (),
) -> None:
    """Fills every variable from the tensor of its name, one at a time.

    Args:
        variables: name → variable.
        reader: the checkpoint.
        ignore: beginnings of names that the checkpoint may hold besides.

    Raises:
        UserError: a variable is missing in the checkpoint or has another shape there, or the
            checkpoint holds one more; all of them are listed. Nothing is loaded then.
    """
    ignored = (*OTHERS, *ignore)
    missing = [name for name in variables if name not in reader]
    extra = [n for n in reader.names() if n not in variables and not n.startswith(ignored)]
    misshapen = [
        f"{name}: {list(reader.shape(name))} in the checkpoint, {list(variable.shape)} in the model"
        for name, variable in variables.items()
        if name in reader and reader.shape(name) != tuple(variable.shape)
    ]
    if missing or extra or misshapen:
        raise UserError(_mismatch(reader.prefix, missing, extra, misshapen))
    for name, variable in variables.items():
        variable.assign(reader.tensor(name))


def load_weights(model: Any, prefix: str | os.PathLike[str]) -> Reader:
    """Loads the weights of a model that has `named_weights()`; every one must be filled.

    Raises:
        UserError: no such checkpoint, a damaged one, or names or shapes that do not fit.
    """
    reader = read(prefix)
    load_variables(model.named_weights(), reader, ignore=(OPTIMIZER,))
    return reader


def _mismatch(prefix: str, missing: list[str], extra: list[str], misshapen: list[str]) -> str:
    parts = [f"{prefix} does not fit the model:"]
    for title, names in (
        ("missing in the checkpoint", missing),
        ("only in the checkpoint", extra),
        ("of another shape", misshapen),
    ):
        if names:
            shown = names[:20] + [f"… and {len(names) - 20} more"] * (len(names) > 20)
            parts.append(f"  {title} ({len(names)}):")
            parts += [f"    {name}" for name in shown]
    reason = _probable_reason(missing, extra, misshapen)
    if reason:
        parts.append(f"  probable reason: {reason}")
    return "\n".join(parts)


def _probable_reason(missing: list[str], extra: list[str], misshapen: list[str]) -> str:
    if any("symbol_modality" in name or name.startswith("transformer/") for name in extra):
        return "this is a checkpoint of Tensor2Tensor; bring it over with kt-import-t2t"
    vocabulary = [name for name in misshapen if "embedding" in name or "softmax" in name]
    if vocabulary and len(vocabulary) == len(misshapen) and not missing and not extra:
        return "the vocabulary has another size than the one the model was trained with"
    if any("norm" in name for name in missing + extra):
        return "another place of layer normalisation (post-norm or pre-norm)"
    if misshapen:
        return "another hidden_size, filter_size or number of channels"
    if missing or extra:
        return "another number of layers, or embeddings shared in one and separate in the other"
    return ""


def _value(tensor: Any) -> Any:
    """The tensor behind a Keras or TensorFlow variable, of its first replica if it has several."""
    value = getattr(tensor, "value", tensor)
    if callable(value):
        value = value()
    return value


def _is_whole(prefix: str) -> bool:
    """Index and every data file are there."""
    folder, base = os.path.split(prefix)
    pattern = re.compile(re.escape(base) + r"\.data-(\d{5})-of-(\d{5})$")
    found = [match for name in os.listdir(folder or ".") if (match := pattern.match(name))]
    return os.path.isfile(prefix + ".index") and any(
        sum(match.group(2) == total for match in found) == int(total)
        for total in {match.group(2) for match in found}
    )


def _is_sound(prefix: str) -> bool:
    """The index can be read and the data is as long as the index says, or longer."""
    try:
        reader = read(prefix)
        wanted = sum(
            int(np.prod(reader.shape(name), dtype=np.int64)) * reader.dtype(name).size
            for name in reader.names()
            if reader.dtype(name) not in (tf.string, tf.variant)
        )
        folder, base = os.path.split(prefix)
        present = sum(
            os.path.getsize(os.path.join(folder, name))
            for name in os.listdir(folder or ".")
            if name.startswith(base + ".data-")
        )
        return present >= wanted and isinstance(reader.train_state, dict)
    except (UserError, ValueError):
        return False


def _named_in_list_file(run_dir: str | os.PathLike[str]) -> str | None:
    path = Path(run_dir) / LIST_FILE
    try:
        found = re.search(r'^model_checkpoint_path: "(.*)"', path.read_text("utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        return None
    if not found:
        return None
    # A moved folder may still name its old place; only the file's own name counts.
    return os.path.join(run_dir, os.path.basename(found.group(1)))


def flush_to_disk(path: str | os.PathLike[str]) -> None:
    """Waits until a file's bytes, or the new names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _first(error: BaseException) -> str:
    message = getattr(error, "message", None) or str(error)
    return message.splitlines()[0] if message else type(error).__name__
