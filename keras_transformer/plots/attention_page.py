"""All attention of a sentence pair as one HTML page that needs nothing else and no network.

`attention.html`, `attention.css` and `attention.js` beside this file are put together with the
weights, which are 16-bit numbers (65535 is 1) in base64, row by row, little-endian.
"""

from __future__ import annotations

import base64
import html
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.plots.attention import KINDS, AttentionMaps, head_colours
from keras_transformer.plots.attention_words import Labels, shown
from keras_transformer.run_dir import write_text_atomically

_FOLDER = Path(__file__).parent
_ONE = 65535


def write_page(maps: AttentionMaps, path: str | os.PathLike[str], model: str = "") -> None:
    """Writes the page, whole or not at all.

    Args:
        maps: what it shows.
        path: the HTML file.
        model: how the page names the model; "" for not at all.

    Raises:
        UserError: the file cannot be written.
    """
    try:
        write_text_atomically(Path(path), page(maps, model))
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None


def page(maps: AttentionMaps, model: str = "") -> str:
    """The page's text."""
    parts = {
        "TITLE": html.escape(f"Attention: {maps.source_text}"),
        "STYLE": _part("attention.css"),
        "DATA": _json_for_script(_data(maps, model)),
        "PROGRAM": _part("attention.js"),
    }
    text = _part("attention.html")
    # One pass over the template, so that nothing in a sentence is taken for a place to fill.
    pieces = text.split("@@")
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _part(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _data(maps: AttentionMaps, model: str) -> dict[str, Any]:
    heads = max(len(layer) for kind in KINDS for layer in maps.weights[kind])
    return {
        "model": model,
        "sourceText": shown(maps.source_text),
        "targetText": shown(maps.target_text),
        "isGiven": maps.is_given,
        "colours": head_colours(heads),
        "axes": {kind: [_axis(labels) for labels in maps.axes(kind)] for kind in KINDS},
        "weights": {kind: [_layer(each) for each in maps.weights[kind]] for kind in KINDS},
    }


def _axis(labels: Labels) -> dict[str, Any]:
    return {
        "subtokens": labels.subtokens,
        "words": [[word.text, word.first, word.end] for word in labels.words],
    }


def _layer(weights: np.ndarray) -> dict[str, Any]:
    numbers = np.rint(weights * _ONE).astype("<u2")
    return {"heads": len(weights), "data": base64.b64encode(numbers.tobytes()).decode("ascii")}


def _json_for_script(value: Any) -> str:
    """JSON that cannot end the script element it stands in, nor break on half a surrogate."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")
