"""Whether what a program will write can be written where its flags say, known before it works.

Nothing is made here but a file without content that is gone at once, so a program that refuses its
flags leaves no trace. An existing file counts as good: outputs are written beside it and renamed.
"""

from __future__ import annotations

import os

from keras_transformer.errors import UserError


def require_folder(folder: str | os.PathLike[str], flag: str) -> None:
    """Refuses a folder that takes no files, or is not there and cannot be made.

    Args:
      folder: it, or the folders above it too, may not be there yet.
      flag: what named it, as in `--output_dir`, for the message.

    Raises:
      UserError: see above.
    """
    place = os.path.abspath(folder)
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    _require_room(place, f"{folder} cannot be made or written", flag)


def require_file(path: str | os.PathLike[str], flag: str, makes_folders: bool = False) -> None:
    """Refuses a file that cannot be written.

    Args:
      path: it may be there or not.
      flag: what named it.
      makes_folders: the program makes the folders above it.

    Raises:
      UserError: it is a folder, or the one that holds it is missing or takes no files.
    """
    if os.path.isdir(path):
        raise UserError(f"{path} is a folder: give a file's name as {flag}")
    folder = os.path.dirname(os.path.abspath(path))
    while makes_folders and not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    problem = f"{path} cannot be written"
    if not os.path.lexists(folder):
        folder = os.path.dirname(path)
        raise UserError(f"{problem}: there is no folder {folder}; give another {flag}")
    _require_room(folder, problem, flag)


def _require_room(folder: str, problem: str, flag: str) -> None:
    if not os.path.isdir(folder):
        raise UserError(f"{problem}: {folder} is no folder; give another {flag}")
    if reason := why_no_file_can_be_made(folder):
        raise UserError(f"{problem}: {folder} takes no new file ({reason}); give another {flag}")


def make_folder(folder: str | os.PathLike[str], flag: str) -> None:
    """Makes a folder for outputs, with those above it.

    Raises:
      UserError: it cannot be made, or takes no files.
    """
    require_folder(folder, flag)
    os.makedirs(folder, exist_ok=True)


def why_no_file_can_be_made(folder: str | os.PathLike[str]) -> str:
    """What the operating system says to a new file in a folder; empty if it can be made.

    Permissions alone do not tell: in /proc, on a read-only disk or beyond a quota they may be good.
    """
    import tempfile  # not at every start of every program

    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)
