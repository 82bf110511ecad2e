"""One layer's attention as a picture: a heat map for each head. Needs matplotlib (`plots`)."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.plots.attention import AttentionMaps, head_colours

if TYPE_CHECKING:
    from keras_transformer.plots.attention_words import Labels

logger = logging.getLogger(__name__)

TITLES = {
    "encoder": "encoder self-attention",
    "cross": "decoder attention to the source",
    "decoder": "decoder self-attention",
}
_INCHES_OF_A_WORD = 0.21
_INCHES_OF_A_LETTER = 0.085
_PANELS_ACROSS = 4
_WIDEST = 24.0  # inches of panels side by side; one wider than that stands alone
_LONGEST_NAME = 24  # letters
# Matplotlib's own font has no Chinese, Japanese or Korean; these are taken where installed.
_MORE_FONTS = ("Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "Arial Unicode MS")


def write_picture(
    maps: AttentionMaps,
    path: str | os.PathLike[str],
    kind: str = "cross",
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    words: bool = True,
    dpi: int = 120,
) -> None:
    """Draws the heat maps of some heads into an image file, whole or not at all.

    Rows look at columns; the darker, the more, on one scale from 0 to 1 for all panels.

    Args:
        maps: what to draw.
        path: the image; its ending names the format.
        kind: one of `attention.KINDS`.
        layer: from 0; None for the last.
        heads: from 0; None for all.
        words: whether subtokens are joined to words.
        dpi: dots per inch.

    Raises:
        UserError: matplotlib is missing, there is no such layer or head, or the file cannot be
            written.
    """
    layer, heads = select(maps, kind, layer, heads)
    require_matplotlib()
    from matplotlib import font_manager
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    weights = maps.joined(kind, layer) if words else maps.weights[kind][layer]
    rows, columns = (_names(labels, words) for labels in maps.axes(kind))
    panel_width = len(columns) * _INCHES_OF_A_WORD + 0.3
    across = max(1, min(len(heads), _PANELS_ACROSS, int(_WIDEST / panel_width)))
    down = -(-len(heads) // across)
    margins = [max(map(len, names)) * _INCHES_OF_A_LETTER + 0.1 for names in (rows, columns)]
    figure = Figure(
        figsize=(
            across * panel_width + margins[0],
            down * (len(rows) * _INCHES_OF_A_WORD + 0.3) + margins[1] + 0.2,
        ),
        layout="constrained",
        facecolor="white",
    )
    canvas = FigureCanvasAgg(figure)
    installed = set(font_manager.get_font_names())
    fonts = ["DejaVu Sans", *(name for name in _MORE_FONTS if name in installed)]
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    colours = head_colours(len(weights))
    for place, panel in enumerate(panels.flat):
        if place >= len(heads):
            panel.set_visible(False)
            continue
        head = heads[place]
        shades = LinearSegmentedColormap.from_list(
            "head", ["white", colours[head], _darker(colours[head])]
        )
        panel.imshow(weights[head], cmap=shades, vmin=0, vmax=1, aspect="equal")
        panel.set_title(f"head {head + 1}", fontsize=9, color=colours[head], fontweight="bold")
        # Signs such as $ are words here, not formulas.
        style = {"fontsize": 8, "fontfamily": fonts, "parse_math": False}
        panel.set_xticks(np.arange(len(columns)), columns, rotation=90, **style)
        panel.set_yticks(np.arange(len(rows)), rows, **style)
        # A panel with none below it shows the words itself.
        lowest = place + across >= len(heads)
        panel.tick_params(length=0, labelbottom=lowest, labelleft=place % across == 0)
        panel.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
        panel.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
        panel.grid(which="minor", color="#e3e6ea", linewidth=0.5)
        panel.tick_params(which="minor", length=0)
        panel.spines[:].set_color("#c5cad1")
    title = f"{TITLES[kind]}, layer {layer + 1} of {len(maps.weights[kind])}"
    figure.suptitle(title, fontsize=10)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp{target.suffix}")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            canvas.print_figure(temporary, dpi=dpi, bbox_inches="tight", pad_inches=0.08)
        os.replace(temporary, target)
    except (ValueError, OSError) as error:
        raise UserError(f"{path} cannot be written: {error}") from None
    finally:
        temporary.unlink(missing_ok=True)
    if any("missing from" in str(warning.message) for warning in caught):
        logger.warning("%s: no installed font has all letters; the page shows them", path)


def select(
    maps: AttentionMaps, kind: str, layer: int | None, heads: Sequence[int] | None
) -> tuple[int, list[int]]:
    """The layer and the heads that are meant, from 0: the last one and all where None.

    Raises:
        UserError: there is no such layer or head.
    """
    layers = maps.weights[kind]
    if layer is not None and not 0 <= layer < len(layers):
        raise UserError(f"there is no layer {layer + 1}: this model has 1 to {len(layers)}")
    number = len(layers) - 1 if layer is None else layer
    count = len(layers[number])
    for head in heads or ():
        if not 0 <= head < count:
            raise UserError(f"there is no head {head + 1}: this model has 1 to {count}")
    return number, list(range(count)) if heads is None else list(heads)


def require_matplotlib() -> None:
    """Ends at once where pictures cannot be drawn.

    Raises:
        UserError: matplotlib is missing.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UserError(
            "a picture needs matplotlib: pip install 'keras-transformer-t2t[plots]', or leave it"
            " out with --png="
        ) from None


def _darker(colour: str) -> str:
    return "#" + "".join(f"{int(colour[at : at + 2], 16) * 2 // 5:02x}" for at in (1, 3, 5))


def _names(labels: Labels, words: bool) -> list[str]:
    names = [word.text for word in labels.words] if words else list(labels.subtokens)
    # One address or compound would otherwise take more room than the maps.
    return [n if len(n) <= _LONGEST_NAME else f"{n[: _LONGEST_NAME - 1]}…" for n in names]
