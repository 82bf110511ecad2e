"""How long an output may become.

Two rules. `sentence`: a sentence's own length + extra_length, so that its output does not depend
on the sentences it shares a batch with; the paper's rule (section 6.1: "input length + 50").
`batch`: Tensor2Tensor's, the padded length of the batch + extra_length for every sentence of it.
For a sentence alone in its batch the two agree. Lengths count the end of sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

from keras_transformer.errors import UserError

LENGTH_LIMITS = ("sentence", "batch")
EXTRA_LENGTH = 50  # paper, section 6.1; T2T's default up to 1.5.4, 100 from then on


def decode_lengths(
    input_lengths: Sequence[int],
    extra_length: int = EXTRA_LENGTH,
    length_limit: str = "sentence",
    most: int | None = None,
) -> list[int]:
    """The most subtokens each output of a batch may have, its end of sentence included.

    Args:
        input_lengths: subtokens of each input of the batch, end of sentence included.
        extra_length: steps beyond the input, 0 or more.
        length_limit: one of `LENGTH_LIMITS`.
        most: the model's own limit (rows of a learned position table), if it has one.

    Raises:
        UserError: extra_length below 0, or an unknown rule.
    """
    if extra_length < 0:
        raise UserError(f"extra_length is {extra_length}: give 0 or more subtokens")
    if length_limit not in LENGTH_LIMITS:
        raise UserError(f"length_limit is {length_limit!r}: give one of {', '.join(LENGTH_LIMITS)}")
    if length_limit == "batch":
        longest = max(input_lengths, default=0)
        limits = [longest + extra_length for _ in input_lengths]
    else:
        limits = [length + extra_length for length in input_lengths]
    return limits if most is None else [min(limit, most) for limit in limits]
