"""Searches whose outputs are all of one length, so that all do the same work."""

from __future__ import annotations

from keras_transformer.decoding.options import DecodeOptions


def equal_lengths(beam_size: int, length: int) -> DecodeOptions:
    """Options under which no output ends before its last step; limits of `length` subtokens."""
    return DecodeOptions(beam_size=beam_size, min_length=length - 1, extra_length=length)
