"""EVALB's figures: a line of its table, its summary, and the counts by label."""

from __future__ import annotations

from dataclasses import dataclass

VALID, ERROR, SKIPPED = 0, 1, 2  # EVALB's status column


@dataclass
class SentenceScore:
    """A line of EVALB's table.

    Attributes:
        number: line of the files, from 1.
        length: words of the gold sentence with punctuation, without empty elements.
        status: VALID, ERROR or SKIPPED.
        matched: gold brackets found in the test tree.
        gold_brackets, test_brackets: brackets after deletion.
        crossing: test brackets that cross any gold bracket.
        words: words after deletion.
        correct_tags: words with the gold tag.
    """

    number: int
    length: int
    status: int = VALID
    matched: int = 0
    gold_brackets: int = 0
    test_brackets: int = 0
    crossing: int = 0
    words: int = 0
    correct_tags: int = 0

    @property
    def recall(self) -> float:
        """Percent; 0 without gold brackets."""
        return _percent(self.matched, self.gold_brackets)

    @property
    def precision(self) -> float:
        """Percent; 0 without test brackets."""
        return _percent(self.matched, self.test_brackets)

    @property
    def tag_accuracy(self) -> float:
        """Percent; 0 without words."""
        return _percent(self.correct_tags, self.words)


@dataclass
class Summary:
    """Sums over sentences and EVALB's figures from them; brackets and words of valid ones only."""

    sentences: int = 0
    error: int = 0
    skip: int = 0
    scored: int = 0
    matched: int = 0
    gold_brackets: int = 0
    test_brackets: int = 0
    complete: int = 0
    crossing: int = 0
    without_crossing: int = 0
    up_to_two_crossing: int = 0
    words: int = 0
    correct_tags: int = 0

    def add(self, score: SentenceScore) -> None:
        """Counts one sentence; one that is not VALID only as such."""
        self._count(score.status)
        if score.status != VALID:
            return
        self.scored += 1
        self._add_sizes(score)
        self.matched += score.matched
        self.complete += score.gold_brackets == score.test_brackets == score.matched
        self.crossing += score.crossing
        self.without_crossing += score.crossing == 0
        self.up_to_two_crossing += score.crossing <= 2
        self.correct_tags += score.correct_tags

    def add_missing(self, status: int, gold_brackets: int, words: int) -> None:
        """Counts a sentence whose test tree is no use: nothing found, nothing complete."""
        self._count(status)
        self.scored += 1
        self.gold_brackets += gold_brackets
        self.words += words

    def _count(self, status: int) -> None:
        self.sentences += 1
        self.error += status == ERROR
        self.skip += status == SKIPPED

    def _add_sizes(self, score: SentenceScore) -> None:
        self.gold_brackets += score.gold_brackets
        self.test_brackets += score.test_brackets
        self.words += score.words

    @property
    def recall(self) -> float:
        """Percent of the gold brackets that were found."""
        return _percent(self.matched, self.gold_brackets)

    @property
    def precision(self) -> float:
        """Percent of the test brackets that are right."""
        return _percent(self.matched, self.test_brackets)

    @property
    def fmeasure(self) -> float | None:
        """Harmonic mean of recall and precision; None where EVALB prints nan."""
        recall, precision = self.recall, self.precision
        return 2 * precision * recall / (precision + recall) if self.matched else None

    @property
    def complete_match(self) -> float:
        """Percent of the sentences without a bracket wrong or missing."""
        return _percent(self.complete, self.scored)

    @property
    def average_crossing(self) -> float:
        """Crossing brackets a sentence."""
        return self.crossing / self.scored if self.scored else 0.0

    @property
    def no_crossing(self) -> float:
        """Percent of the sentences."""
        return _percent(self.without_crossing, self.scored)

    @property
    def two_or_less_crossing(self) -> float:
        """Percent of the sentences."""
        return _percent(self.up_to_two_crossing, self.scored)

    @property
    def tagging_accuracy(self) -> float:
        """Percent of the words."""
        return _percent(self.correct_tags, self.words)


@dataclass
class LabelCounts:
    """Brackets of one label. An ADVP matched by a PRT counts as found for both."""

    gold: int = 0
    test: int = 0
    found: int = 0  # gold brackets of this label that were matched
    right: int = 0  # test brackets of this label that were matched

    @property
    def recall(self) -> float:
        """Percent."""
        return _percent(self.found, self.gold)

    @property
    def precision(self) -> float:
        """Percent."""
        return _percent(self.right, self.test)

    @property
    def fmeasure(self) -> float:
        """Percent; 0 if nothing matched."""
        total = self.recall + self.precision
        return 2 * self.recall * self.precision / total if total else 0.0


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
