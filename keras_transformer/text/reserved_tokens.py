"""The two ids that every text encoder keeps free, as in Tensor2Tensor."""

from __future__ import annotations

PAD_ID = 0
"""Padding of a batch of ids."""

EOS_ID = 1
"""End of a sentence."""

RESERVED_TOKENS = ("<pad>", "<EOS>")
"""How ids 0 and 1 are named in vocabulary files and printed by decoders."""

NUM_RESERVED_IDS = len(RESERVED_TOKENS)
