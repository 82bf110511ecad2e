"""What an output file is called when nobody says, and the numbers of shards: T2T's names."""

from __future__ import annotations


def decodes_suffix(hparams_set: str | None, problem_name: str, beam_size: int, alpha: float) -> str:
    """`.transformer.<set>.<problem>.beam<b>.alpha<a>.decodes`."""
    return (
        f".transformer.{hparams_set or 'own'}.{problem_name}.beam{beam_size}.alpha{alpha}.decodes"
    )


def shard_name(
    path: str, shards: int, shard_id: int, shards_start_offset: int, google_format: bool
) -> str:
    """The name of one shard of a file that was split; the name itself if it was not.

    Args:
        path: of the whole.
        shards: how many there are.
        shard_id: which one, from 0.
        shards_start_offset: added to it.
        google_format: `-00000-of-00004` instead of three digits.
    """
    if shards <= 1:
        return path
    number = shard_id + shards_start_offset
    return f"{path}-{number:05d}-of-{shards:05d}" if google_format else f"{path}{number:03d}"


def beside(path: str, ending: str) -> str:
    """The same name with its last dot-part replaced: `a.decodes` → `a.targets`."""
    head, dot, _ = path.rpartition(".")
    return f"{head if dot else path}.{ending}"
