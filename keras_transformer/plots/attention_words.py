"""Subtokens and the words they make up, as labels of attention maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keras_transformer.text.byte_encoder import ByteTextEncoder
from keras_transformer.text.escaping import unescape_token
from keras_transformer.text.reserved_tokens import NUM_RESERVED_IDS, RESERVED_TOKENS
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.text.tokenizer import detokenize

START = "<start>"
"""What the decoder reads at its first step: a vector of zeros, no symbol."""

BLANK = "␣"

# What turns the direction of all the text after it; shown as a sign, so that it turns nothing.
_TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")


@dataclass(frozen=True)
class Word:
    """Neighbouring subtokens first … end - 1 under one name."""

    text: str
    first: int
    end: int


@dataclass(frozen=True)
class Labels:
    """What stands along one side of a map.

    Attributes:
        subtokens: one label for each position.
        words: labels of the words; together they cover every position once, in order.
    """

    subtokens: tuple[str, ...]
    words: tuple[Word, ...]

    @property
    def firsts(self) -> list[int]:
        """Position of each word's first subtoken."""
        return [word.first for word in self.words]

    def read_by_decoder(self) -> Labels:
        """Labels of the decoder's inputs for these outputs: moved one to the right.

        At the step that writes position t the decoder reads `START` and the positions before t.
        """
        length = len(self.subtokens)
        moved = [Word(START, 0, 1)]
        for word in self.words:
            if word.first + 1 < length:
                moved.append(Word(word.text, word.first + 1, min(word.end + 1, length)))
        return Labels((START, *self.subtokens[:-1]), tuple(moved))


def label(ids: Sequence[int], encoder: Any, words_at_blanks: bool = False) -> Labels:
    """Labels of the ids that a text encoder gave.

    Args:
        ids: without padding; id 1, the end of sentence, is a word of its own.
        encoder: where they come from. Entries of a subword vocabulary are joined to the tokens
            of its tokenizer, bytes to what stands between blanks; other encoders have words.
        words_at_blanks: join tokens too that have no blank between them: `/NP` and `-LRB-` of
            parsing models are two and three tokens, and one symbol.
    """
    texts = [_text(symbol, encoder) for symbol in ids]
    starts = [
        place == 0 or _starts_word(ids, texts, place, encoder, words_at_blanks)
        for place in range(len(ids))
    ]
    firsts = [place for place, start in enumerate(starts) if start]
    words = []
    for first, end in zip(firsts, [*firsts[1:], len(ids)], strict=True):
        whole = [] if _is_special(ids[first], encoder) else ids[first:end]
        text = encoder.decode(whole) if whole else texts[first]
        words.append(Word(_visible(text), first, end))
    return Labels(tuple(map(_visible, texts)), tuple(words))


def _is_special(symbol: int, encoder: Any) -> bool:
    """Reserved, or a row that a `vocab_divisor` adds to the table and that means nothing."""
    return symbol < NUM_RESERVED_IDS or symbol >= encoder.vocab_size


def _text(symbol: int, encoder: Any) -> str:
    """What one id stands for, blanks included."""
    if symbol < NUM_RESERVED_IDS:
        return RESERVED_TOKENS[symbol]
    if symbol >= encoder.vocab_size:
        return f"#{symbol}"
    if isinstance(encoder, SubwordTextEncoder):
        return unescape_token(encoder.subtokens[symbol].removesuffix("_"))
    if isinstance(encoder, ByteTextEncoder):
        byte = symbol - NUM_RESERVED_IDS
        return chr(byte) if 0x20 <= byte < 0x7F else f"0x{byte:02X}"
    return str(encoder.decode_list([symbol])[0])


def _starts_word(
    ids: Sequence[int], texts: list[str], place: int, encoder: Any, words_at_blanks: bool
) -> bool:
    before, here = ids[place - 1], ids[place]
    if _is_special(before, encoder) or _is_special(here, encoder):
        return True
    if isinstance(encoder, SubwordTextEncoder):
        ends = encoder.subtokens[before].endswith("_")
        if not words_at_blanks:
            return ends
        # The entry `_` ends a token and says nothing; what was said stands before it.
        said = "".join(texts[max(0, place - 2) : place])
        return _blank_between(said, texts[place], ends)
    if isinstance(encoder, ByteTextEncoder):
        return texts[place - 1].isspace() and not texts[place].isspace()
    return True


def _blank_between(before: str, here: str, is_between_tokens: bool) -> bool:
    """Whether `here` is the first to be said after a blank; blanks go with what is before them."""
    if not before or not here or here.isspace():
        return False
    if before[-1].isspace() or here[0].isspace():
        return True
    # The tokenizer leaves a single blank between two words out, and puts it back.
    joined = detokenize([before[-1], here])
    return is_between_tokens and joined != before[-1] + here


def shown(text: str) -> str:
    """The text without signs that would turn the direction of what stands beside it."""
    return text.translate(_TURNING)


def _visible(text: str) -> str:
    return shown(text.strip()) or (BLANK if text else "_")
