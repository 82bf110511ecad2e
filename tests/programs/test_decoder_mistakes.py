"""What a user of kt-decoder can do wrong: one message, status 2, nothing lost."""

from __future__ import annotations

import sys

import pytest

from keras_transformer.cli.decoder import main
from tests.programs.t2t_run import INPUT, MODEL, RUN

pytestmark = pytest.mark.usefixtures("each_model_once")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--output_dir is not given"),
        (["--output_dir=/no/such"], "--output_dir=/no/such: there is no such run directory"),
        ([*MODEL, "--decode_from_file=/no/such"], "/no/such: no such file"),
        ([*MODEL, "--decode_hparams=beam_sise=4"], "there is no 'beam_sise'; did you mean"),
        ([*MODEL, "--decode_hparams=beam_size=x"], "beam_size is 'x': it must be a whole number"),
        ([*MODEL, "--decode_hparams=num_decodes=3"], "num_decodes=3 is not offered"),
        (
            [*MODEL, "--decode_hparams=beam_size=4", "--beam_size=2"],
            "--beam_size=2 and --decode_hparams=beam_size=4 contradict each other",
        ),
        ([*MODEL, "--decode_hparams=write_beam_scores=True"], "needs return_beams=True"),
        (
            [*MODEL, "--checkpoint_path=/no/model.ckpt-1", f"--decode_from_file={INPUT}"],
            "/no/model.ckpt-1",
        ),
        (
            [*MODEL, f"--decode_from_file={INPUT}", "--decode_interactive"],
            "different jobs: give one",
        ),
        ([*MODEL, f"--score_file={INPUT}"], "line 1: there is no tab"),
        ([*MODEL, f"--score_file={INPUT}", "--sweep_alpha=0"], "different jobs: give one"),
        ([*MODEL, "--sweep_beam_size=nan"], "--sweep_beam_size: 'nan' is not a whole number"),
        ([*MODEL, "--sweep_beam_size=4,0"], "beam_size is 0: it must be at least 1"),
        ([*MODEL, "--sweep_alpha=high"], "--sweep_alpha: 'high' is not a number"),
        ([*MODEL, "--sweep_alpha=1", "--decode_hparams=sample=True"], "a sweep searches"),
        ([*MODEL, "--sweep_alpha=1", "--parse_format=pretty"], "a sweep scores trees"),
        ([*MODEL, f"--decode_from_file={RUN}"], "is no regular file"),
        (
            [*MODEL, f"--decode_from_file={INPUT}", f"--decode_to_file={INPUT}/below/out"],
            f"{INPUT}/below/out cannot be written: {INPUT} is no folder; give another",
        ),
        (
            [*MODEL, f"--decode_from_file={INPUT}", "--decode_to_file=/dev/null"],
            "--decode_to_file=/dev/null is no regular file",
        ),
        ([*MODEL, "--model=lstm", f"--decode_from_file={INPUT}"], "only transformer is there"),
    ],
)
def test_mistakes(capsys, flags, message):
    assert main(flags) == 2
    assert message in capsys.readouterr().err


def test_standard_input_is_closed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    for flags in ([], ["--decode_interactive"]):
        assert main([*MODEL, *flags]) == 2
        assert "standard input is closed: give --decode_from_file" in capsys.readouterr().err


def test_the_input_is_never_the_output(tmp_path, capsys):
    text = tmp_path / "text"
    text.write_text("a b\n")
    (tmp_path / "link").symlink_to(text)
    for output in (text, tmp_path / "link"):
        assert main([*MODEL, f"--decode_from_file={text}", f"--decode_to_file={output}"]) == 2
        assert "is the input itself, which would be lost" in capsys.readouterr().err
    assert text.read_text() == "a b\n"
