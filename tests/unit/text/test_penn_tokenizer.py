"""Raw sentences as treebank words."""

from __future__ import annotations

import random

import pytest

from keras_transformer.text.penn_tokenizer import penn_tokenize

CASES = [
    ("The cat sat on the mat.", "The cat sat on the mat ."),
    ("", ""),
    ("Yes", "Yes"),
    # contractions and possessives
    ("They don't know John's dogs' names.", "They do n't know John 's dogs ' names ."),
    ("I'll, we've, she'd, I'm, you're", "I 'll , we 've , she 'd , I 'm , you 're"),
    ("He couldn't've cannot gonna", "He could n't 've can not gon na"),
    ("'Tis Cannot", "'T is Can not"),
    ("We don't.", "We do n't ."),
    ("It's John's.", "It 's John 's ."),
    ("He said: 'No, you can't.'", "He said : ` No , you ca n't . '"),
    # quotation marks
    ('"Go!" he said.', "`` Go ! '' he said ."),
    ('He said, "Go."', "He said , `` Go . ''"),
    ('("No")', "( `` No '' )"),
    ("\u201cIt\u2019s fine,\u201d she said\u2014twice\u2026",
     "`` It 's fine , '' she said -- twice ..."),
    ("the 'old' rule, rock 'n' roll of the '90s", "the ` old ' rule , rock 'n' roll of the '90s"),
    # numbers, money, times
    ("It rose 1,234.5%, to $3.50 at 10:30.", "It rose 1,234.5 % , to $ 3.50 at 10:30 ."),
    ("US$5 and C$6; #7", "US$ 5 and C$ 6 ; # 7"),
    # full stops: only the last one, and one more after letters with stops
    ("Mr. Smith left.", "Mr. Smith left ."),
    ("He works for Acme Inc.", "He works for Acme Inc ."),
    ("in the U.S.", "in the U.S. ."),
    ("(See p. 5.)", "( See p. 5 . )"),
    ("Wait...", "Wait ..."),
    ("Really?!", "Really ? !"),
    # hyphens, slashes, addresses
    ("a well-known and/or AT&T--like", "a well-known and/or AT&T -- like"),
    ("See http://a.org/b?c=1,2. Or mail x.y@z.com.",
     "See http://a.org/b?c=1,2 . Or mail x.y@z.com ."),
    # brackets stay brackets
    ("a [b] {c} <d>", "a [ b ] { c } < d >"),
    # treebank words come out as they were
    ("`` Well '' , it 's fine -- is n't it ?", "`` Well '' , it 's fine -- is n't it ?"),
]  # fmt: skip


@pytest.mark.parametrize("raw, words", CASES)
def test_words(raw, words):
    assert " ".join(penn_tokenize(raw)) == words


@pytest.mark.parametrize("_, words", CASES)
def test_words_are_stable(_, words):
    """Tokenising twice gives the same words, so tokenised text may be given as raw text."""
    again = penn_tokenize(words)
    assert again in (words.split(), [*words.split()[:-1], "U.S.", "."])


def test_slashes_as_in_the_wall_street_journal_trees():
    assert penn_tokenize("and/or 5\\/8 *", escape_slashes=True) == ["and\\/or", "5\\/8", "\\*"]
    assert penn_tokenize("[a] (b)", escape_slashes=True) == ["-LSB-", "a", "-RSB-", "(", "b", ")"]


def test_nothing_is_lost_of_random_text():
    rng = random.Random(3)
    for _ in range(3_000):
        text = "".join(rng.choices("ab'\"`.,:;-()[]$%#@&/!?0 n't\u00a0日", k=rng.randint(0, 30)))
        joined = "".join(penn_tokenize(text))
        kept = "".join(text.split()).replace('"', "").replace("'", "").replace("`", "")
        for mark in ("'", "`"):
            joined = joined.replace(mark, "")
        assert joined.rstrip(".") == kept.rstrip(".")
