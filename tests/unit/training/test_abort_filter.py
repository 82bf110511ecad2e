"""TensorFlow's lines about a failed all-reduce come late, or not at all if we say what was lost."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BEFORE = "E0000 00:00:17.5 42 cuda_driver.cc:1] no memory\na line of NCCL\n"
ABORT = "E0000 00:00:17.5 42 ring_alg.cc:291] Aborting RingReduce with CANCELLED: CANCELLED\n"
ABORT += "E0000 00:00:17.6 42 base_collective_executor.cc:252] "
ABORT += "BaseCollectiveExecutor::StartAbort UNAVAILABLE: Socket closed\nAdditional information:\n"
AFTER = "F0000 00:00:17.7 42 status.cc:9] Check failed\n"
WORKER = """
import os, sys
from keras_transformer.training.abort_filter import aborts_held_back
before, abort, after, end = sys.argv[1:]
print("before", file=sys.stderr)
with aborts_held_back() as drop:
    os.write(2, (before + abort + after).encode())
    if end == "lost":
        drop()
        drop()
        os.write(2, abort.encode())
    print("by Python", file=sys.stderr)
    if end == "crashed":
        os.abort()
    if end == "lost":
        os._exit(3)
print("afterwards", file=sys.stderr)
drop()
os.write(2, abort.encode())
"""


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [
        ("lost", 3, f"before\n{BEFORE}{AFTER}"),
        ("crashed", -signal.SIGABRT, f"before\n{BEFORE}{AFTER}{ABORT}"),
        ("stopped", 0, f"before\n{BEFORE}{AFTER}{ABORT}afterwards\n{ABORT}"),
    ],
)
def test_what_is_passed_on(end, status, said):
    # Read to the end of the pipe, which the process in between holds open, too.
    done = subprocess.run(
        [sys.executable, "-c", WORKER, BEFORE, ABORT, AFTER, end],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == status
    # Python's own line goes past the others, sooner or later.
    assert "by Python\n" in done.stderr
    assert done.stderr.replace("by Python\n", "") == said
