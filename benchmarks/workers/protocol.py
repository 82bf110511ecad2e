"""How a measuring process talks with the harness. Imports nothing; runs under Python 3.7 too.

The harness starts it with the name of a JSON file, the job. It prints one JSON object when it is
ready, one after each round it is asked for by a line on its standard input, and ends with that
input. What libraries print goes to standard error.

A round gives, for each figure, how many units were done in how many CPU seconds of this process.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time


def serve(prepare) -> None:
    """Prepares the work and does it as often as asked.

    Args:
        prepare: function of the job that gives (round, versions): a function without arguments
            that gives {figure: (units, CPU seconds)}, or that and what must be equal in all
            processes compared; and {package: version}.
    """
    with open(sys.argv[1], encoding="utf-8") as stream:
        job = json.load(stream)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(report: dict) -> None:
        answers.write(json.dumps(report) + "\n")
        answers.flush()

    one_round, versions = prepare(job)
    for _ in range(job["warm_up_rounds"]):
        one_round()
    versions = dict(versions, python=sys.version.split()[0])
    answer({"versions": versions})
    for _ in iter(sys.stdin.readline, ""):
        figures = one_round()
        checked = None
        if isinstance(figures, tuple):
            figures, checked = figures
        answer({"figures": figures, "checked": checked, "peak_memory": peak_memory()})


def cpu_seconds(work) -> float:
    """CPU seconds of this process, all threads, that a call takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def peak_memory() -> int:
    """Highest resident size of this process so far, in bytes."""
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest if sys.platform == "darwin" else highest * 1024
