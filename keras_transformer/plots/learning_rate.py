"""The learning rate over a run as a picture. Needs matplotlib, the extra `plots`."""

from __future__ import annotations

import os
from pathlib import Path

from keras_transformer.errors import UserError


def plot_learning_rates(curves: dict[str, tuple[list[int], list[float]]], path: str) -> None:
    """Draws learning rates over updates into an image file.

    Args:
      curves: a set's name → steps (updates already done) and the rate of the update after each.
      path: the image; its ending names the format.

    Raises:
      UserError: matplotlib is missing, or the file's ending names no image format.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError(
            "--plot_schedule needs matplotlib: pip install 'keras-transformer-t2t[plots]'"
        ) from None
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, (steps, rates) in curves.items():
        axes.plot(steps, rates, label=name)
    axes.set_xlabel("updates")
    axes.set_ylabel("learning rate")
    axes.set_xlim(0, max(steps[-1] for steps, _ in curves.values()))
    axes.set_ylim(0)
    axes.grid(alpha=0.3)
    axes.legend()
    target = Path(path)
    temporary = target.with_name(f".{target.name}.tmp{target.suffix}")
    try:
        canvas.print_figure(temporary, dpi=120)
    except (ValueError, OSError) as error:
        raise UserError(f"--plot_schedule={path} cannot be written: {error}") from None
    os.replace(temporary, target)
