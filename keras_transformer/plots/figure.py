"""A matplotlib figure that needs no screen, and its file, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from keras_transformer.errors import UserError


def new_figure(flag: str, width: float = 8.0, height: float = 4.5) -> Any:
    """An empty figure, sizes in inches.

    Args:
      flag: what asked for it, for the message.

    Raises:
      UserError: matplotlib, the extra `plots`, is missing.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError(
            f"{flag} needs matplotlib: pip install 'keras-transformer-t2t[plots]'"
        ) from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def require_image_path(path: str, flag: str) -> None:
    """Refuses, before there is anything to draw, a path that no figure can be saved to.

    Raises:
      UserError: matplotlib is missing, the ending names no image format, it is a folder, or the
        folder that holds it is not there.
    """
    target = Path(path)
    formats = new_figure(flag).canvas.get_supported_filetypes()
    if target.suffix[1:].lower() not in formats:
        raise UserError(
            f"{flag}={path} ends in no image format: give a file's name that does, plot.png or"
            " plot.svg for instance"
        )
    if target.is_dir():
        raise UserError(f"{flag}={path} is a folder: give the name of a file in it")
    if not target.absolute().parent.is_dir():
        raise UserError(f"{flag}={path} cannot be written: there is no folder {target.parent}")


def save_figure(figure: Any, path: str, flag: str) -> None:
    """Writes the figure; the ending names the format.

    Raises:
      UserError: as `require_image_path`, or the file cannot be written.
    """
    require_image_path(path, flag)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.tmp{target.suffix}")
    try:
        figure.savefig(temporary, dpi=120)
    except (ValueError, OSError) as error:
        raise UserError(f"{flag}={path} cannot be written: {error}") from None
    os.replace(temporary, target)
