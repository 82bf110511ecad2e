"""The learning rate over a run as a picture. Needs matplotlib, the extra `plots`."""

from __future__ import annotations

from keras_transformer.plots.figure import new_figure, save_figure


def plot_learning_rates(curves: dict[str, tuple[list[int], list[float]]], path: str) -> None:
    """Draws learning rates over updates into an image file.

    Args:
      curves: a set's name → steps (updates already done) and the rate of the update after each.
      path: the image; its ending names the format.

    Raises:
      UserError: matplotlib is missing, or the file's ending names no image format.
    """
    figure = new_figure("--plot_schedule")
    axes = figure.add_subplot()
    for name, (steps, rates) in curves.items():
        axes.plot(steps, rates, label=name)
    axes.set_xlabel("updates")
    axes.set_ylabel("learning rate")
    axes.set_xlim(0, max(steps[-1] for steps, _ in curves.values()))
    axes.set_ylim(0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.3)
    axes.legend()
    save_figure(figure, path, "--plot_schedule")
