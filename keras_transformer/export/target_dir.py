"""Where an export goes, known before anything is loaded."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keras_transformer.errors import UserError


def numbered_dir(base: str | os.PathLike[str]) -> Path:
    """A new folder of `base`, named by the time in seconds.

    TensorFlow Serving takes the largest number for the newest version, and T2T's exporter names
    its folders so.
    """
    number = int(time.time())
    while Path(base, str(number)).exists():
        number += 1
    return Path(base, str(number))


def check_target(export_dir: str | os.PathLike[str]) -> Path:
    """The folder to be written, if nothing would be overwritten; an empty one may be there.

    Raises:
        UserError: there is something in it already, or the folder above cannot be made.
    """
    path = Path(export_dir)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise UserError(
            f"{path} is there already: a served model is never overwritten; name another"
            " --export_dir, or leave it out for a new numbered one"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{path.parent} cannot be made ({error.strerror}): name another --export_dir"
        ) from None
    return path


@contextmanager
def written_whole(export_dir: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder beside `export_dir`, renamed to it at the end; gone if that fails.

    Raises:
        UserError: see `check_target`; or the files cannot be written.
    """
    path = check_target(export_dir)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file():
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
        if path.is_dir():
            path.rmdir()  # empty: check_target has seen to it
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def folder_bytes(folder: str | os.PathLike[str]) -> int:
    """Size of all files of a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
