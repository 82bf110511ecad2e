"""The WMT corpora through tensorflow-datasets (`--source=tfds`).

Differences from T2T's archives: order of the corpora and of the records, whitespace-only lines kept
by TFDS (dropped here like any blank side), unequal files refused by TFDS. tensorflow-datasets is
imported only when used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_transformer.data import download
from keras_transformer.errors import UserError

# All WMT sets come from this server; TFDS itself would try it for minutes.
_SERVER = "http://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz"
_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
# Every so many pairs one is taken for the vocabulary, spread over shuffled records.
_VOCAB_STRIDE = 10


def _folder(tmp_dir: str) -> str | None:
    """`<tmp_dir>/tensorflow_datasets` if it is there, else TFDS's own folder."""
    here = Path(tmp_dir, "tensorflow_datasets")
    return str(here) if here.is_dir() else None


def _builder(name: str, tmp_dir: str) -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow_datasets as tfds

    return tfds.builder(name, data_dir=_folder(tmp_dir))


def require(name: str, tmp_dir: str) -> None:
    """Downloads and prepares the data set if it is not there.

    Raises:
        UserError: it is not on this machine and cannot be downloaded; without network within
            seconds.
    """
    builder = _builder(name, tmp_dir)
    if builder.data_path.exists():
        return
    failed = download.unreachable([_SERVER])
    reason = ", ".join(f"{url}: {why}" for url, why in failed.items())
    if not failed:
        try:
            builder.download_and_prepare()
            return
        except Exception as error:  # whatever TFDS's downloader met
            reason = f"{type(error).__name__}: {error}"
    raise UserError(
        f"the TFDS data set {name} is not in {builder.data_dir} and cannot be prepared"
        f" ({reason}): prepare it on a machine with network (tfds build {name}) and copy the"
        f" folder to {Path(os.path.abspath(tmp_dir), 'tensorflow_datasets')}, or use"
        " --source=archives"
    )


def pairs(
    name: str, languages: tuple[str, str], split: str, tmp_dir: str
) -> Iterator[dict[str, str]]:
    """Stripped pairs of a split in the order of TFDS's files."""
    require(name, tmp_dir)
    import tensorflow_datasets as tfds

    config = tfds.ReadConfig(interleave_cycle_length=1)
    dataset = _builder(name, tmp_dir).as_dataset(
        split=_SPLITS[split], shuffle_files=False, read_config=config
    )
    source, target = languages
    for example in tfds.as_numpy(dataset):
        yield {
            "inputs": _clean(example[source]),
            "targets": _clean(example[target]),
        }


def _clean(text: bytes) -> str:
    return text.decode("utf-8").replace("\r", "").replace("\n", " ").strip()


def vocab_sample(
    name: str, languages: tuple[str, str], tmp_dir: str, characters_per_side: int
) -> Iterator[str]:
    """Every tenth pair until each side has given so many characters."""
    left = dict.fromkeys(("inputs", "targets"), characters_per_side)
    for number, pair in enumerate(pairs(name, languages, "train", tmp_dir)):
        if number % _VOCAB_STRIDE:
            continue
        for side, text in pair.items():
            if left[side] > 0:
                left[side] -= len(text)
                yield text
        if max(left.values()) <= 0:
            return
