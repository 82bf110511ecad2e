"""Attention maps of one sentence pair, from a trained model (the paper's Figures 3 to 5).

    maps = attention_maps(Translator.load("runs/ende"), "A house.")
    maps.weights["cross"][-1]            # float32 [H, T, S] of the last layer
    maps.joined("cross", layer=5)        # the same over words

The output, given or decoded, is fed to the model as in training (teacher forcing), so every weight
comes from one pass. Position t of a map's first axis is the step that *writes* subtoken t; in the
decoder's self-attention the second axis is what the step *reads*: nothing at position 0, then the
output moved one to the right. (T2T's notebook puts the written words along both axes.)
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.plots.attention_words import Labels, label
from keras_transformer.text.reserved_tokens import EOS_ID, PAD_ID

if TYPE_CHECKING:
    from keras_transformer.decoding.options import DecodeOptions
    from keras_transformer.decoding.translator import Translator

KINDS = ("encoder", "cross", "decoder")
"""The encoder's self-attention, the decoder's attention to the source, its self-attention."""

_PLACE_OF_KIND = {
    "encoder": r"encoder/layer_(\d+)/self_attention",
    "cross": r"decoder/layer_(\d+)/cross_attention",
    "decoder": r"decoder/layer_(\d+)/self_attention",
}
# Ten hues that can be told apart on white and on black.
_COLOURS = (
    *("#4c8dd6", "#f28e2b", "#e15759", "#3fae9f", "#8f6fc9"),
    *("#c9a227", "#d35f9d", "#5aa845", "#a3704c", "#7f8a99"),
)


@dataclass(frozen=True)
class AttentionMaps:
    """Attention weights with the labels of their axes.

    Attributes:
        source_text, target_text: the pair; for a parsing model as the model reads and writes it.
        is_given: whether the target was given, not decoded.
        source: labels of the S source positions, end of sentence included.
        target: labels of the T positions written.
        target_read: labels of the T positions the decoder reads in their place.
        weights: kind → for each layer float32 [H, S, S], [H, T, S] or [H, T, T]; each row sums
            to 1.
    """

    source_text: str
    target_text: str
    is_given: bool
    source: Labels
    target: Labels
    target_read: Labels
    weights: dict[str, list[np.ndarray]]

    def axes(self, kind: str) -> tuple[Labels, Labels]:
        """Labels of what looks and of what is looked at."""
        return {
            "encoder": (self.source, self.source),
            "cross": (self.target, self.source),
            "decoder": (self.target, self.target_read),
        }[kind]

    def joined(self, kind: str, layer: int) -> np.ndarray:
        """Weights between words, float32 [H, words, words]; each row sums to 1.

        A word is looked at as much as its subtokens together, and looks as its subtokens do on
        average (Clark et al. 2019, section 4.1).
        """
        looking, looked_at = self.axes(kind)
        sums = np.add.reduceat(self.weights[kind][layer], looked_at.firsts, axis=2)
        sums = np.add.reduceat(sums, looking.firsts, axis=1)
        sizes = [word.end - word.first for word in looking.words]
        return sums / np.array(sizes, np.float32)[:, np.newaxis]


def attention_maps(
    translator: Translator,
    source: str,
    target: str | None = None,
    options: DecodeOptions | None = None,
    words_at_blanks: bool = False,
) -> AttentionMaps:
    """The maps of a sentence and its translation.

    Args:
        translator: of one model, not of an ensemble.
        source: as for `Translator.translate`, which prepares it as the problem wants it.
        target: as the target encoder reads it (for parsing models the symbols, not a tree).
            None: the best translation is decoded.
        options: of that decoding; None for the problem's defaults.
        words_at_blanks: see `attention_words.label`.

    Raises:
        UserError: the source or a given target is blank, the target is longer than learned
            positions reach, the translator is an ensemble, or decoding refuses.
    """
    if len(translator.models[0]) > 1:
        raise UserError("attention weights are those of one model: give one checkpoint_path")
    options = options or translator.default_options
    encoded = translator.encode([source], options)
    if not encoded:
        raise UserError("the source is blank: attention needs words to look at")
    if target is not None and not target.strip():
        raise UserError("the target is blank: leave it out to have it decoded")
    source_ids = list(encoded[0].ids)
    if target is None:
        best = translator.translate([source], options)[0].best
        target_ids = [*best.ids, *([EOS_ID] if best.finished else [])]
    else:
        target_ids = [*translator.target_encoder.encode(target.strip()), EOS_ID]
    most = translator.most_positions
    if most is not None and len(target_ids) > most:
        raise UserError(
            f"the target has {len(target_ids)} subtokens, more than the {most} positions the model"
            " has learned: give a shorter one"
        )
    labels = label(target_ids, translator.target_encoder, words_at_blanks)
    return AttentionMaps(
        source_text=_text(source_ids, translator.source_encoder),
        target_text=_text(target_ids, translator.target_encoder),
        is_given=target is not None,
        source=label(source_ids, translator.source_encoder, words_at_blanks),
        target=labels,
        target_read=labels.read_by_decoder(),
        weights=attention_weights(translator.models[0][0], source_ids, target_ids),
    )


def attention_weights(
    model: Any, source_ids: Sequence[int], target_ids: Sequence[int]
) -> dict[str, list[np.ndarray]]:
    """Weights of every layer while the model is made to write `target_ids`.

    Args:
        model: a `Transformer`.
        source_ids, target_ids: of one sentence, end of sentence included. Padding (0) at their
            ends is taken off first: nothing looks at it, and where it looks means nothing.

    Returns:
        As `AttentionMaps.weights`.
    """
    features = {"inputs": _row(source_ids), "targets": _row(target_ids)}
    _, by_name = model(features, training=False, return_attention=True)
    weights: dict[str, list[np.ndarray]] = {}
    for kind, pattern in _PLACE_OF_KIND.items():
        found = {
            int(match.group(1)): by_name[name].numpy()[0]
            for name in by_name
            if (match := re.fullmatch(pattern, name))
        }
        weights[kind] = [found[layer] for layer in sorted(found)]
    return weights


def head_colours(heads: int) -> list[str]:
    """A colour for each head, `#rrggbb`, the same in the picture and on the page."""
    colours = list(_COLOURS[:heads])
    for number in range(len(colours), heads):
        # Steps of the golden section never come back to a hue.
        rgb = colorsys.hls_to_rgb(number * 0.618 % 1, 0.55, 0.55)
        colours.append("#" + "".join(f"{round(part * 255):02x}" for part in rgb))
    return colours


def _row(ids: Sequence[int]) -> np.ndarray:
    row = np.trim_zeros(np.asarray(ids, np.int32), "b")
    if PAD_ID in row or not row.size:
        raise ValueError("padding must stand at the end of a sentence that has words")
    return row[np.newaxis]


def _text(ids: Sequence[int], encoder: Any) -> str:
    """What the model read or wrote; a parsing problem has not made a tree of it."""
    known = [symbol for symbol in ids if EOS_ID < symbol < encoder.vocab_size]
    return " ".join(encoder.decode(known).split())
