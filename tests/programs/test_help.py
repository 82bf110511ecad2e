"""`--help` of every program: documentation, at once, without TensorFlow."""

from __future__ import annotations

import importlib
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path.stem
    for path in (ROOT / "keras_transformer" / "cli").glob("*.py")
    if re.search(r"^main = ", path.read_text(encoding="utf-8"), re.MULTILINE)
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_describes_every_flag_within_a_second(name):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", f"keras_transformer.cli.{name}", "--help"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time, so that a busy machine does not decide.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0
    for heavy in ("tensorflow", "keras", "sacrebleu", "matplotlib"):
        assert not re.search(rf"\| +{heavy}$", done.stderr, re.MULTILINE), heavy
    program = importlib.import_module(f"keras_transformer.cli.{name}").program
    assert program.name == f"kt-{name.replace('_', '-')}"
    assert done.stdout == program.help()
    assert program.summary in done.stdout
    for flag in program._order:
        text = program._values[flag].help
        assert len(text.split()) >= 3, f"--{flag} says too little: {text!r}"


def test_there_are_programs():
    assert {"trainer", "decoder", "datagen", "bleu", "avg", "info", "import_t2t"} <= set(PROGRAMS)


def test_importing_the_package_is_quick_and_loads_no_framework():
    code = "import sys, keras_transformer; print(sorted({m.split('.')[0] for m in sys.modules}))"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 1.0
    for heavy in ("tensorflow", "keras", "numpy"):
        assert f"'{heavy}'" not in done.stdout
