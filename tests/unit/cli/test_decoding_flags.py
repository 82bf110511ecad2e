"""How the flags of decoding come together with what the run's problem wants."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keras_transformer.cli.decoding_flags import (
    _check_against_run,
    add_model_flags,
    add_parsing_flags,
    add_search_flags,
    decode_hparams,
    parsing_settings,
)
from keras_transformer.cli.program import Program


def read(function: Any, *arguments: str) -> Any:
    program = Program("kt-test", "test")
    for add in (add_model_flags, add_search_flags, add_parsing_flags):
        add(program)
    found: list[Any] = []
    assert program.main(lambda flags: found.append(function(flags)))(arguments) == 0
    return found[0]


@pytest.fixture
def parsing_run(tmp_path: Path) -> str:
    record = {"problem": "wsj_parsing", "options": {"max_words": 70}}
    (tmp_path / "run.json").write_text(json.dumps(record))
    return f"--output_dir={tmp_path}"


def test_a_parsing_run_brings_the_papers_beam(parsing_run):
    options = read(decode_hparams, parsing_run).options
    assert (options.beam_size, options.alpha, options.extra_length) == (21, 0.3, 300)
    assert not options.constrain
    own = read(decode_hparams, parsing_run, "--beam_size=4", "--decode_hparams=alpha=0.6").options
    assert (own.beam_size, own.alpha, own.extra_length) == (4, 0.6, 300)
    assert read(
        decode_hparams, parsing_run, "--constrain_brackets", "--n_best=21"
    ).options.constrain


def test_other_runs_and_t2ts_keep_the_defaults(tmp_path):
    folder = f"--output_dir={tmp_path}"
    assert read(decode_hparams, folder).options.beam_size == 4
    assert read(decode_hparams, folder, "--problem=wsj_parsing").options.beam_size == 21
    # A run of Tensor2Tensor names its problem when it is open.
    opened = read(lambda flags: decode_hparams(flags, {"beam_size": 21}), folder)
    assert opened.options.beam_size == 21


def test_settings_of_trees(parsing_run):
    assert read(parsing_settings, parsing_run) == {}
    given = read(parsing_settings, parsing_run, "--parse_format=json", "--raw_input")
    assert given == {"parse_format": "json", "raw_input": True}


def test_a_target_space_that_is_not_the_runs_is_refused(capsys):
    program = Program("kt-test", "test")
    add_model_flags(program)
    run = SimpleNamespace(path="runs/ende", target_space_id=8, hparams_set=None)
    check = program.main(lambda flags: _check_against_run(flags, SimpleNamespace(run=run)))
    assert check(["--target_space_id=8"]) == 0
    assert check(["--target_space_id=9999"]) == 2
    assert "--target_space_id says 9999, but the model in runs/ende was" in capsys.readouterr().err
