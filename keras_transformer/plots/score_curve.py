"""Scores over the steps of a run as a picture. Needs matplotlib, the extra `plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keras_transformer.plots.figure import new_figure, save_figure


def plot_scores(steps: Sequence[int], scores: Mapping[str, Sequence[float]], path: str) -> None:
    """Draws one line for each measure into an image file.

    Args:
      steps: updates done when each translation was made.
      scores: a measure's name → its score at each of these steps.
      path: the image; its ending names the format.

    Raises:
      UserError: matplotlib is missing, or the file's ending names no image format.
    """
    figure = new_figure("--plot")
    axes = figure.add_subplot()
    for name, values in scores.items():
        axes.plot(steps, values, marker="o", markersize=4, label=name)
    axes.set_xlabel("updates")
    axes.set_ylabel("score")
    axes.grid(alpha=0.3)
    axes.legend()
    save_figure(figure, path, "--plot")
