"""From flags to the options of a problem."""

from __future__ import annotations

import pytest

from keras_transformer import registry
from keras_transformer.cli.problem_flags import add_problem_flags, problem_options
from keras_transformer.cli.program import Program


def options_of(*arguments: str) -> dict:
    program = Program("kt-test", "test")
    add_problem_flags(program)
    found: dict = {}
    assert program.main(lambda flags: found.update(problem_options(flags)))(arguments) == 0
    return found


def test_flags_at_their_default_are_left_out():
    assert options_of() == {}


@pytest.mark.parametrize(
    "name, value",
    [
        ("parsing_path", "treebank"),
        ("train_trees", "a.trees,b.trees"),
        ("dev_trees", "d"),
        ("test_trees", "t"),
        ("train_sections", "02-04"),
        ("dev_sections", "22"),
        ("test_sections", "23,24"),
        ("machine_trees", "m.trees=0.5"),
        ("gold_weight", 3.0),
        ("max_words", 70),
        ("keep_function_tags", True),
        ("keep_empty_elements", True),
        ("vocab_style", "t2t"),
        ("source_vocab_size", 4096),
    ],
)
def test_every_option_of_the_treebank_problems_has_its_flag(name, value):
    options = options_of(f"--{name}={value}")
    assert options == {name: value}
    assert registry.problem("wsj_parsing", **options).options == options
