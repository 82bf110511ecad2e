"""Labelled bracket scores as EVALB counts them (Sekine and Collins 1997, revision of 2006).

Written anew; the figures are EVALB's to the printed decimals. Three things it does otherwise: it
goes on where EVALB stops or leaves its own memory, and says so; it counts by label; and it can be
told to skip nothing, since EVALB leaves sentences out whose words do not agree, which flatters.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from keras_transformer.errors import UserError
from keras_transformer.scoring.evalb_figures import (
    ERROR,
    SKIPPED,
    VALID,
    LabelCounts,
    SentenceScore,
    Summary,
)
from keras_transformer.scoring.evalb_parameters import COLLINS, EvalbParameters
from keras_transformer.scoring.evalb_reading import STRAY_WORD, Bracket, EvalbTree, read_tree
from keras_transformer.text.lines import PathLike


@dataclass
class EvalbResult:
    """All figures of a pair of files.

    Attributes:
        messages: what EVALB prints on standard error, and after its end what it would go on with.
        stopped_at: line at which EVALB would have ended without a summary, or None.
        beyond: places that EVALB has no room for; its own figures there are luck.
        skipping: False if errors and skipped sentences count as missing.
    """

    parameters: EvalbParameters
    skipping: bool = True
    sentences: list[SentenceScore] = field(default_factory=list)
    all: Summary = field(default_factory=Summary)
    short: Summary = field(default_factory=Summary)
    labels: dict[str, LabelCounts] = field(default_factory=lambda: defaultdict(LabelCounts))
    messages: list[str] = field(default_factory=list)
    stopped_at: int | None = None
    beyond: list[str] = field(default_factory=list)


def score_trees(
    gold: Iterable[str],
    test: Iterable[str],
    parameters: EvalbParameters = COLLINS,
    skipping: bool = True,
) -> EvalbResult:
    """Scores trees given as lines, line n of `test` against line n of `gold`.

    With different numbers of lines the common part is scored, with a message, as in EVALB. With
    `skipping=False` a sentence in error, skipped or missing in `test` stays in: its gold brackets
    and words count as not found, it is not complete, and adds no crossing bracket; it is in the
    number of sentences that averages are taken over. Surplus test lines have no gold and are
    never counted.
    """
    scorer = _Scorer(EvalbResult(parameters, skipping))
    short_of_test_lines = False
    for number, (gold_line, test_line) in enumerate(zip_longest(gold, test), start=1):
        if gold_line is None:
            scorer.error(number, "Number of lines unmatch (too many lines in test file)")
            break
        if test_line is None and not short_of_test_lines:
            short_of_test_lines = True
            if skipping:  # EVALB reads the line before it finds that there is no other
                scorer.read(number, gold_line, "gold")
            scorer.error(number, "Number of lines unmatch (too many lines in gold file)")
            if skipping:
                break
        scorer.score(number, gold_line, test_line or "")
    return scorer.result


def score_tree_files(
    gold: PathLike,
    test: PathLike,
    parameters: EvalbParameters = COLLINS,
    skipping: bool = True,
) -> EvalbResult:
    """`score_trees` of two files, one tree a line; through gzip if a name ends in `.gz`.

    Bytes that are not UTF-8 are compared as they are.

    Raises:
        UserError: if a file cannot be read.
    """
    return score_trees(_lines(gold), _lines(test), parameters, skipping)


class _Scorer:
    def __init__(self, result: EvalbResult):
        self.result = result
        self.parameters = result.parameters

    def error(self, number: int, message: str) -> None:
        """Notes a message; EVALB ends at the one after MAX_ERROR + 1."""
        result = self.result
        result.messages.append(f"{number} : {printable(message)}")
        # EVALB tests the count before it adds one, hence not MAX_ERROR but two more.
        if result.stopped_at is None and len(result.messages) >= self.parameters.max_error + 2:
            result.stopped_at = number

    def read(self, number: int, line: str, side: str) -> EvalbTree:
        tree = read_tree(line, self.parameters)
        for message in tree.errors:
            self.error(number, message)
            if message == STRAY_WORD:
                self._repeat_until_evalb_ends(number, message)
        self.result.beyond += [f"line {number} of the {side}: {what}" for what in tree.beyond]
        return tree

    def _repeat_until_evalb_ends(self, number: int, message: str) -> None:
        # EVALB never gets past a word outside a bracket: it prints the message until it ends.
        if self.parameters.max_error > 1000:
            self.result.stopped_at = self.result.stopped_at or number
        while self.result.stopped_at is None:
            self.error(number, message)

    def score(self, number: int, gold_line: str, test_line: str) -> None:
        gold = self.read(number, gold_line, "gold")
        test = self.read(number, test_line, "test")
        score = SentenceScore(number, gold.length)
        if gold.errors or test.errors:
            score.status = ERROR
        found: _Matches | None = None
        if not test.words:
            score.status = SKIPPED
        elif mismatch := self._align(gold, test):
            score.status = ERROR
            self.error(number, mismatch)
        else:
            found = _Matches(gold, test, self.parameters)
            found.fill(score)
        self.result.sentences.append(score)
        self._add(score, gold, found)

    def _align(self, gold: EvalbTree, test: EvalbTree) -> str | None:
        """The message if the words differ, after deleted quotation marks were put back."""
        if len(gold.words) != len(test.words):
            _put_back_quotes(gold, test, self.parameters)
        if len(gold.words) != len(test.words):
            return f"Length unmatch ({len(gold.words)}|{len(test.words)})"
        for gold_word, test_word in zip(gold.words, test.words, strict=True):
            if not self.parameters.same_word(gold_word, test_word):
                return f"Words unmatch ({gold_word}|{test_word})"
        return None

    def _add(self, score: SentenceScore, gold: EvalbTree, found: _Matches | None) -> None:
        result = self.result
        summaries = [result.all]
        if score.length <= self.parameters.cutoff_length:
            summaries.append(result.short)
        if score.status == VALID or result.skipping:
            for summary in summaries:
                summary.add(score)
            if score.status == VALID and found:
                found.count_labels(result.labels)
            return
        brackets = _kept_brackets(gold, self.parameters)
        for summary in summaries:
            summary.add_missing(score.status, len(brackets), len(gold.words))
        for bracket in brackets:
            result.labels[bracket.label].gold += 1


def _put_back_quotes(gold: EvalbTree, test: EvalbTree, parameters: EvalbParameters) -> None:
    """Puts a deleted mark back where the other tree has the same place as a word."""
    deleted = parameters.deleted_labels
    for test_quote in test.quotes:
        place = test_quote.index
        for gold_quote in gold.quotes:
            if gold_quote.index != place or gold_quote.tag == test_quote.tag:
                continue
            if gold_quote.tag in deleted and test_quote.tag not in deleted:
                gold.put_back(gold_quote)
            elif test_quote.tag in deleted and gold_quote.tag not in deleted:
                test.put_back(test_quote)


def _kept_brackets(tree: EvalbTree, parameters: EvalbParameters) -> list[Bracket]:
    """Brackets over at least one word whose label is not deleted, without function tags."""
    kept = []
    for bracket in tree.brackets:
        if bracket.start == bracket.end:
            continue
        label = bracket.label.partition("-")[0].partition("=")[0]
        if not parameters.deletes_bracket(label):
            kept.append(Bracket(label, bracket.start, bracket.end))
    return kept


class _Matches:
    """Brackets of an aligned pair of trees."""

    def __init__(self, gold: EvalbTree, test: EvalbTree, parameters: EvalbParameters):
        self.gold = _kept_brackets(gold, parameters)
        self.test = _kept_brackets(test, parameters)
        self.words = len(gold.words)
        self.correct_tags = sum(map(parameters.same_label, gold.tags, test.tags))
        self.pairs = self._pair(parameters)

    def _pair(self, parameters: EvalbParameters) -> list[tuple[Bracket, Bracket]]:
        """Each gold bracket, in order, takes the first free test bracket that is equal."""
        free: dict[tuple[int, int], list[Bracket]] = defaultdict(list)
        for bracket in self.test:
            free[bracket.start, bracket.end].append(bracket)
        pairs = []
        for bracket in self.gold:
            candidates = free[bracket.start, bracket.end]
            for place, candidate in enumerate(candidates):
                if not parameters.labeled or parameters.same_label(bracket.label, candidate.label):
                    pairs.append((bracket, candidates.pop(place)))
                    break
        return pairs

    def _crossing(self) -> int:
        """Test brackets that overlap some gold bracket without holding it or being held."""
        spans = {(bracket.start, bracket.end) for bracket in self.gold}
        return sum(
            any(
                start < bracket.start < end < bracket.end
                or bracket.start < start < bracket.end < end
                for start, end in spans
            )
            for bracket in self.test
        )

    def fill(self, score: SentenceScore) -> None:
        """Enters the counts into a sentence's line."""
        score.matched = len(self.pairs)
        score.gold_brackets, score.test_brackets = len(self.gold), len(self.test)
        score.crossing = self._crossing()
        score.words, score.correct_tags = self.words, self.correct_tags

    def count_labels(self, labels: dict[str, LabelCounts]) -> None:
        """Adds the brackets to the counts by label."""
        for bracket in self.gold:
            labels[bracket.label].gold += 1
        for bracket in self.test:
            labels[bracket.label].test += 1
        for gold, test in self.pairs:
            labels[gold.label].found += 1
            labels[test.label].right += 1


def printable(text: str) -> str:
    """The text with bytes that were not UTF-8 as U+FFFD."""
    return text.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")


def _lines(path: PathLike) -> Iterator[str]:
    opener = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rb") as stream:
            for line in stream:
                yield line.rstrip(b"\n").decode("utf-8", errors="surrogateescape")
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path} cannot be read: {reason}") from error
