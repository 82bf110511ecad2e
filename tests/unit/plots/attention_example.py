"""Attention maps with invented weights, for the picture and the page."""

from __future__ import annotations

import numpy as np

from keras_transformer.plots.attention import KINDS, AttentionMaps
from keras_transformer.plots.attention_words import Labels, Word

LAYERS, HEADS = 2, 3


def example(extra: str = "</script>&$x$ 日") -> AttentionMaps:
    """Two layers of three heads over five source and four target positions."""
    source = Labels(
        ("Cli", "ck", "here", extra, "<EOS>"),
        (Word("Click", 0, 2), Word("here", 2, 3), Word(extra, 3, 4), Word("<EOS>", 4, 5)),
    )
    target = Labels(
        ("Klick", "en", "hier", "<EOS>"),
        (Word("Klicken", 0, 2), Word("hier", 2, 3), Word("<EOS>", 3, 4)),
    )
    rng = np.random.default_rng(0)
    shapes = {"encoder": (5, 5), "cross": (4, 5), "decoder": (4, 4)}
    weights = {}
    for kind in KINDS:
        logits = 2 * rng.normal(size=(LAYERS, HEADS, *shapes[kind])).astype(np.float32)
        if kind == "decoder":
            logits += np.triu(np.full(shapes[kind], -1e9, np.float32), 1)
        numbers = np.exp(logits - logits.max(axis=-1, keepdims=True))
        weights[kind] = list(numbers / numbers.sum(axis=-1, keepdims=True))
    return AttentionMaps(
        f"Click here {extra}",
        "Klicken hier",
        False,
        source,
        target,
        target.read_by_decoder(),
        weights,
    )


ODD_WORDS = (
    "<script>alert(1)</script>",
    '"quoted"',
    "'single'",
    "&amp;",
    "@@DATA@@",
    "שלום",
    "مرحبا(1)",
    "👩‍👩‍👧",
    "日本語",
    "Donaudampfschifffahrtsgesellschaft",
    "x" * 90,
    "�evil",
)


def long_example() -> AttentionMaps:
    """One layer of two heads over 60 words on each side, the odd ones among them."""
    words = (*ODD_WORDS, *(f"word{number}" for number in range(60 - len(ODD_WORDS))))
    labels = Labels(words, tuple(Word(text, at, at + 1) for at, text in enumerate(words)))
    rows = np.full((2, 60, 60), 0.5 / 60, np.float32) + 0.5 * np.eye(60, dtype=np.float32)
    weights = {kind: [rows] for kind in KINDS}
    text = " ".join(words)
    return AttentionMaps(text, text, True, labels, labels, labels.read_by_decoder(), weights)
