"""TensorFlow's import is silent unless the user asks for its log, and leaves Matplotlib alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

IMPORT = "from keras_transformer.cli.quiet import quiet_tensorflow as q; q(); import tensorflow"


@pytest.mark.slow
@pytest.mark.parametrize(("level", "is_silent"), [(None, True), ("3", True), ("0", False)])
def test_the_import_says_what_was_asked_for(level: str | None, is_silent: bool) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    if level is not None:
        environment["TF_CPP_MIN_LOG_LEVEL"] = level
    done = subprocess.run(
        [sys.executable, "-c", IMPORT],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert (done.stderr == "") == is_silent
    assert done.stdout == ""


@pytest.mark.slow
def test_the_import_does_without_matplotlib_and_garbage_collection() -> None:
    """Both are there again afterwards."""
    without = "import gc, sys; assert 'matplotlib' not in sys.modules"
    frozen = "assert gc.isenabled() and gc.get_freeze_count() > 10**5"
    drawing = "import matplotlib.pyplot as p; p.figure()"
    program = f"{IMPORT}; {without}; {frozen}; {drawing}"
    subprocess.run([sys.executable, "-c", program], check=True)
