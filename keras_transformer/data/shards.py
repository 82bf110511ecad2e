"""Names of shard files, and when a set of them may be trusted.

T2T's names: `<problem>-train-00000-of-00100`, `-unshuffled-train-…` before shuffling. A set counts
as complete when every shard that its own names promise is there and no sign of an unfinished
generation lies beside it: our work folder `<problem>.partial`, or T2T's `-unshuffled-` files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from keras_transformer.errors import UserError

SPLITS = ("train", "dev", "test")


def paths(folder: str, name: str, split: str, num_shards: int, shuffled: bool = True) -> list[str]:
    """File names of a split's shards, in order (T2T `generator_utils.sharded_name`)."""
    stem = name if shuffled else f"{name}-unshuffled"
    return [
        str(Path(folder, f"{stem}-{split}-{shard:05d}-of-{num_shards:05d}"))
        for shard in range(num_shards)
    ]


def partial_dir(data_dir: str, name: str) -> Path:
    """The work folder of a generation; its presence means that the set is not finished."""
    return Path(data_dir, f"{name}.partial")


def _present(data_dir: str, name: str, split: str) -> dict[int, list[str]]:
    """Number of shards promised → shard files of that set, for every set in the folder."""
    pattern = re.compile(re.escape(f"{name}-{split}-") + r"(\d{5,})-of-(\d{5,})")
    sets: dict[int, list[str]] = {}
    folder = Path(data_dir)
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            match = pattern.fullmatch(path.name)
            if match:
                sets.setdefault(int(match.group(2)), []).append(str(path))
    return sets


def unfinished(data_dir: str, name: str) -> str | None:
    """The sign of an unfinished generation of that name, or None."""
    ours = partial_dir(data_dir, name)
    if ours.exists():
        return str(ours)
    theirs = sorted(Path(data_dir).glob(f"{name}-unshuffled-*")) if Path(data_dir).is_dir() else []
    return str(theirs[0]) if theirs else None


def is_complete(data_dir: str, name: str, splits: Sequence[str]) -> bool:
    """True if every split has exactly one whole set of shards and nothing is unfinished."""
    if unfinished(data_dir, name):
        return False
    for split in splits:
        sets = _present(data_dir, name, split)
        if len(sets) != 1 or any(len(files) != total for total, files in sets.items()):
            return False
    return True


def other_sets(data_dir: str, name: str, split: str, num_shards: int) -> list[str]:
    """Shard files of that split which belong to a set of another number of shards."""
    sets = _present(data_dir, name, split)
    return [path for total, files in sorted(sets.items()) if total != num_shards for path in files]


def find(data_dir: str, name: str, split: str) -> list[str]:
    """Paths of a split's shards in the order of their numbers.

    Raises:
        UserError: no shards, an incomplete set, two sets, or an unfinished generation.
    """
    sign = unfinished(data_dir, name)
    if sign:
        raise UserError(
            f"the data of {name} in {data_dir} is unfinished ({sign} is there): run kt-datagen"
            f" --problem={name} --data_dir={data_dir} again"
        )
    sets = _present(data_dir, name, split)
    if not sets:
        raise UserError(
            f"no file {name}-{split}-00000-of-… in data_dir {data_dir}: make the data with"
            f" kt-datagen --problem={name}, or name the folder that holds it"
        )
    if len(sets) > 1:
        raise UserError(
            f"{data_dir} holds {len(sets)} sets of {name}-{split} shards, of"
            f" {' and of '.join(map(str, sorted(sets)))} files: keep one of them"
        )
    ((total, files),) = sets.items()
    if len(files) != total:
        missing = [p for p in paths(data_dir, name, split, total) if p not in files]
        raise UserError(
            f"{data_dir} holds {len(files)} of {total} {name}-{split} shards; the first missing"
            f" is {Path(missing[0]).name}: copy the missing ones or make the data again"
        )
    return files
