"""Names and directions of problems."""

from __future__ import annotations

from keras_transformer.data.problem import Problem
from keras_transformer.data.text_problem import Text2TextProblem, VocabType


class ParsingLike(Text2TextProblem):
    separate_vocabularies = True
    approx_source_vocab_size = 2**14
    approx_target_vocab_size = 2**9
    space_ids = {"inputs": 3, "targets": 15}  # noqa: RUF012


def test_the_name_is_the_class_in_snake_case_unless_given():
    class TranslateEndeWmt32kPacked(Problem):
        pass

    class Named(Problem):
        name = "other"

    assert TranslateEndeWmt32kPacked.name == "translate_ende_wmt32k_packed"
    assert Named.name == "other"


def test_reversing_swaps_everything_that_has_sides():
    plain, turned = ParsingLike(), ParsingLike(was_reversed=True)
    files = plain.vocab_files()
    assert files == {
        "inputs": "vocab.parsing_like.source.16384.subwords",
        "targets": "vocab.parsing_like.target.512.subwords",
    }
    assert turned.vocab_files() == {"inputs": files["targets"], "targets": files["inputs"]}
    assert (plain.input_space_id, plain.target_space_id) == (3, 15)
    assert (turned.input_space_id, turned.target_space_id) == (15, 3)
    features = {"inputs": 1, "inputs_position": 2, "targets": 3, "targets_position": 4, "id": 5}
    assert turned.oriented(features) == {
        "targets": 1,
        "targets_position": 2,
        "inputs": 3,
        "inputs_position": 4,
        "id": 5,
    }


def test_copying_takes_the_side_that_is_source_after_reversing():
    sides = {"inputs": "a", "targets": "b"}
    assert Problem(was_copy=True).oriented(sides) == {"inputs": "a", "targets": "a"}
    both = Problem(was_reversed=True, was_copy=True)
    assert both.oriented(sides) == {"inputs": "b", "targets": "b"}
    assert both.full_name == "problem_rev_copy"


def test_data_files_are_those_of_the_plain_name():
    turned = ParsingLike(was_reversed=True)
    assert turned.full_name == "parsing_like_rev"
    assert turned.training_filepaths("d", 1, True) == ["d/parsing_like-train-00000-of-00001"]


def test_vocabulary_names_by_type():
    class Words(Text2TextProblem):
        vocab_type = VocabType.TOKEN

    class Bytes(Text2TextProblem):
        vocab_type = VocabType.CHARACTER

    class Shared(Text2TextProblem):
        use_vocab_from_other_problem = Words()

    assert Words().vocab_filename == "vocab.words.tokens"
    assert Bytes().vocab_files() == {"inputs": None, "targets": None}
    assert Shared().vocab_filename == "vocab.words.tokens"
