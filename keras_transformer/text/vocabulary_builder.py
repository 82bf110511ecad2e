"""Learning a subword vocabulary: Tensor2Tensor's procedure and result, in array operations.

Tensor2Tensor (`SubwordTextEncoder.build_to_target_size`) looks for the minimum count m of a
subtoken that gives a vocabulary nearest to the wanted size. For each m it starts from the single
characters and goes through four rounds: cut all tokens with the vocabulary so far; count, at each
place where a subtoken starts, all substrings from there to the end of the token; keep those with
a count of m or more, longest first, and take the count of each one kept off its prefixes.

Two facts make this fast without changing the result:

- A string cannot occur more often than its prefixes do. So from each position of the text only
  substrings up to a certain length can ever reach m, and the longer ones need no counting. They
  form a trie that is built once, level by level, and serves all rounds and larger m as well.
- All strings of one length are independent of each other, so a level of the trie is one array.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.text.escaping import ESCAPE_CHARACTERS, escape_token
from keras_transformer.text.reserved_tokens import RESERVED_TOKENS
from keras_transformer.text.tokenizer import token_cutter

logger = logging.getLogger(__name__)

NUM_ITERATIONS = 4
"""Rounds for one minimum count; Tensor2Tensor's default."""


def count_tokens(lines: Iterable[str]) -> Counter[str]:
    """How often each token of the tokenizer occurs in the lines."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(token_cutter(line)(line))
    return counts


@dataclass(frozen=True)
class _Level:
    """All distinct substrings of one length that can still reach the minimum count.

    Attributes:
      length: in characters.
      position: [N] where in the text a substring of the level starts.
      node: [N] which of the M distinct substrings it is.
      parent: [M] the node of its prefix in the level before.
      example: [M] one position at which it occurs.
    """

    length: int
    position: np.ndarray
    node: np.ndarray
    parent: np.ndarray
    example: np.ndarray


@dataclass(frozen=True)
class _Vocabulary:
    """Outcome for one minimum count, as positions in the text; strings are made for the best only.

    Attributes:
      min_count: the minimum count it was built for.
      size: number of entries, reserved ones and single characters included.
      entries: (length, [n] positions, [n] counts) of the entries longer than one character.
      character_counts: count of each single character that occurs in the text.
    """

    min_count: int
    size: int
    entries: list[tuple[int, np.ndarray, np.ndarray]]
    character_counts: np.ndarray


class VocabularyBuilder:
    """Builds vocabularies of different sizes from the same counted tokens.

    Args:
      counts: how often each token occurs.
      max_subtoken_length: Tensor2Tensor's limit in characters; it counts one too many, so that 3
        allows entries of at most two. None for no limit.
      reserved_tokens: entries to put first; the first two must be `<pad>` and `<EOS>`. None for
        these two.

    Raises:
      UserError: if there are no tokens, the limit is below 1, or the reserved tokens do not start
        with the two.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        max_subtoken_length: int | None = None,
        reserved_tokens: Sequence[str] | None = None,
    ) -> None:
        self._reserved = tuple(reserved_tokens or RESERVED_TOKENS)
        if self._reserved[: len(RESERVED_TOKENS)] != RESERVED_TOKENS:
            raise UserError(
                f"reserved_tokens is {list(self._reserved)}: the first two must be "
                f"{' and '.join(RESERVED_TOKENS)}, put the others after them"
            )
        if max_subtoken_length is not None and max_subtoken_length < 1:
            raise UserError(
                f"max_subtoken_length is {max_subtoken_length}: it must be at least 1 character"
            )
        if not counts:
            raise UserError("no text to learn a vocabulary from: every line is empty")
        self._alphabet = frozenset(ESCAPE_CHARACTERS).union(*self._reserved, *counts)
        self._max_length = None if max_subtoken_length is None else max_subtoken_length - 1

        escaped = [escape_token(token, self._alphabet) for token in counts]
        self._text = "".join(escaped)
        lengths = np.fromiter(map(len, escaped), np.int64, len(escaped))
        token_ends = np.cumsum(lengths)
        self._token_start = token_ends - lengths
        self._token_end = token_ends
        self._end = np.repeat(token_ends, lengths)
        self._weight = np.repeat(np.fromiter(counts.values(), np.float64, len(counts)), lengths)
        code_points = np.frombuffer(self._text.encode("utf-32-le", "surrogatepass"), "<u4")
        self._characters, self._character = np.unique(code_points, return_inverse=True)
        self._character = self._character.astype(np.int64)

        self._raw_reserved = list(self._occurrences(self._reserved))
        self._escaped_reserved_tokens = [
            escape_token(token, self._alphabet) for token in self._reserved
        ]
        self._escaped_reserved = list(self._occurrences(self._escaped_reserved_tokens))
        self._trie: list[_Level] = []
        self._trie_min_count = 0

    def search(self, target_size: int, lowest: int, highest: int) -> list[str]:
        """Entries of the vocabulary nearest to the target size on Tensor2Tensor's search path.

        Args:
          target_size: wanted number of entries.
          lowest: lower end of the search for the minimum count.
          highest: its upper end.

        Raises:
          UserError: if the target is below 1 or the ends are the wrong way round.
        """
        if target_size < 1:
            raise UserError(f"the vocabulary size is {target_size}: it must be at least 1")
        if lowest > highest:
            raise UserError(
                f"the search for the minimum count goes from {lowest} to {highest}: "
                "the first must not be larger than the second"
            )
        best = self._search(target_size, lowest, highest)
        logger.info(
            "Learned a vocabulary of %d subtokens (%d were wanted) with minimum count %d.",
            best.size,
            target_size,
            best.min_count,
        )
        return self._strings(best)

    def build(self, min_count: int) -> list[str]:
        """Entries of the vocabulary for one minimum count of a subtoken."""
        return self._strings(self._build(min_count))

    def _search(self, target_size: int, lowest: int, highest: int) -> _Vocabulary:
        min_count = (lowest + highest) // 2
        found = self._build(min_count)
        distance = abs(found.size - target_size)
        if distance * 100 < target_size or lowest >= highest or min_count < 2:
            return found
        if found.size > target_size:
            other = self._search(target_size, min_count + 1, highest)
        else:
            other = self._search(target_size, lowest, min_count - 1)
        return other if abs(other.size - target_size) < distance else found

    def _build(self, min_count: int) -> _Vocabulary:
        min_count = max(min_count, 1)
        levels = self._levels(min_count)
        accepted: list[np.ndarray] = []
        current: list[np.ndarray] = []
        longest = self._longest_matches(levels, [], self._raw_reserved)
        for iteration in range(NUM_ITERATIONS):
            if iteration:
                longest = self._longest_matches(levels, accepted, self._escaped_reserved)
            starts = self._subtoken_starts(longest)
            accepted, current = self._prune(levels, self._count(levels, starts), min_count)
        entries = [
            (level.length, level.example[kept], now[kept])
            for level, kept, now in zip(levels, accepted, current, strict=True)
            if level.length > 1
        ]
        size = len(self._reserved) + len(self._alphabet) + sum(len(e[1]) for e in entries)
        return _Vocabulary(min_count, size, entries, current[0])

    def _levels(self, min_count: int) -> list[_Level]:
        if not self._trie or min_count < self._trie_min_count:
            self._trie = list(self._grow_trie(min_count))
            self._trie_min_count = min_count
        return self._trie

    def _grow_trie(self, min_count: int) -> Iterator[_Level]:
        position = np.arange(len(self._character))
        node = self._character
        size = len(self._characters)
        _, example = np.unique(node, return_index=True)
        yield _Level(1, position, node, np.zeros(size, np.int64), example)
        length = 1
        while self._max_length is None or length < self._max_length:
            occurrences = np.bincount(node, self._weight[position], minlength=size)
            longer = (occurrences[node] >= min_count) & (position + length < self._end[position])
            position = position[longer]
            key = node[longer] * len(self._characters) + self._character[position + length]
            distinct, first, node = np.unique(key, return_index=True, return_inverse=True)
            occurrences = np.bincount(node, self._weight[position], minlength=len(distinct))
            frequent = occurrences >= min_count
            if not frequent.any():
                return
            kept = frequent[node]
            example = position[first[frequent]]
            position = position[kept]
            node = (np.cumsum(frequent) - 1)[node[kept]]
            size = len(example)
            length += 1
            parent = distinct[frequent] // len(self._characters)
            yield _Level(length, position, node, parent, example)

    def _longest_matches(
        self,
        levels: list[_Level],
        accepted: list[np.ndarray],
        reserved: list[tuple[int, np.ndarray]],
    ) -> np.ndarray:
        """[positions of the text] length of the longest entry that matches there, in characters."""
        longest = np.ones(len(self._character), np.int64)
        for level, kept in zip(levels, accepted, strict=False):
            longest[level.position[kept[level.node]]] = level.length
        for length, position in reserved:
            longest[position] = np.maximum(longest[position], length)
        return longest

    def _subtoken_starts(self, longest: np.ndarray) -> np.ndarray:
        """[positions of the text] whether the greedy cut of the tokens starts a subtoken there."""
        starts = np.zeros(len(longest), bool)
        position, end = self._token_start, self._token_end
        while len(position):
            starts[position] = True
            position = position + longest[position]
            inside = position < end
            position, end = position[inside], end[inside]
        return starts

    def _count(self, levels: list[_Level], starts: np.ndarray) -> list[np.ndarray]:
        """Per level [M]: how often each substring begins where a subtoken starts."""
        counts = []
        for level in levels:
            counted = starts[level.position]
            if self._max_length is not None and level.length > self._max_length:
                counted[:] = False
            counts.append(
                np.bincount(
                    level.node[counted],
                    self._weight[level.position[counted]],
                    minlength=len(level.example),
                )
            )
        return counts

    def _prune(
        self, levels: list[_Level], counts: list[np.ndarray], min_count: int
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Accepts substrings from long to short.

        Returns:
          Per level [M]: which are accepted (single characters never are: all of the alphabet
          enters anyway), and the counts that are left after the longer ones took theirs.
        """
        accepted: list[np.ndarray] = []
        current: list[np.ndarray] = []
        taken: np.ndarray = np.zeros(len(levels[-1].example))
        for level, count in zip(reversed(levels), reversed(counts), strict=True):
            now = count - taken
            kept = now >= min_count
            if level.length > 1:
                taken = np.bincount(
                    level.parent,
                    taken + np.where(kept, now, 0),
                    minlength=len(levels[level.length - 2].example),
                )
            else:
                kept = np.zeros_like(kept)
            accepted.append(kept)
            current.append(now)
        return accepted[::-1], current[::-1]

    def _strings(self, vocabulary: _Vocabulary) -> list[str]:
        counted = [
            (int(count), self._text[position : position + length])
            for length, positions, counts in vocabulary.entries
            for position, count in zip(positions, counts, strict=True)
        ]
        character_count = {
            chr(code_point): int(count)
            for code_point, count in zip(self._characters, vocabulary.character_counts, strict=True)
        }
        counted += [(character_count.get(character, 0), character) for character in self._alphabet]
        counted.sort(reverse=True)
        return self._escaped_reserved_tokens + [entry for _, entry in counted]

    def _occurrences(self, strings: Iterable[str]) -> Iterator[tuple[int, np.ndarray]]:
        """(length, positions) of each string that occurs inside tokens of the text."""
        for string in strings:
            positions = []
            position = self._text.find(string) if string else -1
            while position >= 0:
                if position + len(string) <= self._end[position]:
                    positions.append(position)
                position = self._text.find(string, position + 1)
            if positions:
                yield len(string), np.array(positions)
