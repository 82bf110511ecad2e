"""Two trainers never share a run directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformer.errors import UserError
from keras_transformer.training.run_lock import run_lock

ROOT = Path(__file__).parents[3]
HOLD = """
import sys, time
from pathlib import Path
from keras_transformer.training.run_lock import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_second_is_refused_until_the_first_is_gone(tmp_path):
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert first.stdout is not None and first.stdout.readline() == "held\n"
        with pytest.raises(UserError, match="another trainer is writing"), run_lock(tmp_path):
            pass
    finally:
        first.kill()
        first.wait()
    # A killed trainer leaves nothing that would have to be deleted by hand.
    with run_lock(tmp_path):
        pass
    with run_lock(tmp_path):
        pass
