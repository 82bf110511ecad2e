"""The folder of an unfinished generation."""

from __future__ import annotations

import pytest

from keras_transformer.data.text_problem import Text2TextProblem
from keras_transformer.data.work_folder import work_folder
from keras_transformer.errors import UserError


class Words(Text2TextProblem):
    approx_vocab_size = 30
    source = "one"

    def source_fingerprint(self):
        return {"source": self.source}


VOCABULARY = Words().vocab_filename


class Killed(BaseException):
    pass


def test_one_process_at_a_time(tmp_path):
    with (
        work_folder(Words(), str(tmp_path), {}),
        pytest.raises(UserError, match="another process is making the data of words"),
        work_folder(Words(), str(tmp_path), {}),
    ):
        pass


@pytest.mark.parametrize(("next_source", "kept"), [("one", True), ("two", False)])
def test_a_vocabulary_outlives_a_kill_only_for_the_same_sources(tmp_path, next_source, kept):
    with pytest.raises(Killed), work_folder(Words(), str(tmp_path), {}) as work:
        (tmp_path / VOCABULARY).touch()
        (work / "words-train-00000-of-00001").touch()
        raise Killed
    problem = Words()
    problem.source = next_source
    with work_folder(problem, str(tmp_path), {}) as work:
        assert (tmp_path / VOCABULARY).exists() == kept
        assert not list(work.glob("words-*"))
    assert not work.exists()


def test_a_mistake_removes_what_was_learnt_but_not_what_was_there(tmp_path):
    for there in (False, True):
        if there:
            (tmp_path / VOCABULARY).touch()
        with pytest.raises(UserError), work_folder(Words(), str(tmp_path), {}) as work:
            (tmp_path / VOCABULARY).touch()
            raise UserError("line 2")
        assert not work.exists()
        assert (tmp_path / VOCABULARY).exists() == there
