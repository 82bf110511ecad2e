"""Tasks on several processes."""

from __future__ import annotations

import functools
import operator
import os

import pytest

from keras_transformer.data import parallel_text, workers
from keras_transformer.errors import UserError


def test_results_come_in_the_order_of_the_arguments():
    double = functools.partial(operator.mul, 2)
    assert list(workers.ordered_map(double, range(50), 3)) == [2 * n for n in range(50)]


def test_the_tasks_really_run_in_other_processes():
    pids = list(
        workers.ordered_map(functools.partial(_call_without_argument, os.getpid), range(20), 2)
    )
    assert pids  # this module is not part of the package, so it stays here
    assert set(pids) == {os.getpid()}
    elsewhere = set(workers.ordered_map(eval, ["__import__('os').getpid()"] * 20, 2))
    assert os.getpid() in elsewhere and len(elsewhere) == 3


def test_no_more_processes_start_than_there_are_tasks(monkeypatch):
    started = []

    class Counted(workers._Worker):
        def __init__(self, payload):
            started.append(payload)
            super().__init__(payload)

    monkeypatch.setattr(workers, "_Worker", Counted)
    assert list(workers.ordered_map(abs, range(-11, 0), 5000)) == list(range(11, 0, -1))
    assert len(started) == 11 - workers._FIRST_TASKS_HERE


def _call_without_argument(function, _):
    return function()


def test_the_input_is_not_read_ahead():
    taken = []

    def arguments():
        for number in range(100):
            taken.append(number)
            yield number

    results = workers.ordered_map(abs, arguments(), 2)
    for _ in range(20):
        next(results)
    assert len(taken) <= 20 + 3
    results.close()


def test_a_users_mistake_in_a_worker_stays_one(tmp_path):
    pairs = ["/nowhere"] * 20
    count = functools.partial(parallel_text.require_same_length, "/nowhere")
    with pytest.raises(UserError, match="/nowhere: no such file"):
        list(workers.ordered_map(count, pairs, 2))
    with pytest.raises(UserError, match="no such file"):
        list(workers.ordered_map(count, _good_then_bad(tmp_path), 2))


def _good_then_bad(tmp_path):
    (tmp_path / "a").write_text("x\n")
    return [str(tmp_path / "a")] * 0 + ["/nowhere"] * 12


def test_a_killed_worker_is_reported():
    kill = ["1"] * 10 + ["__import__('os').kill(__import__('os').getpid(), 9)"] * 4
    with pytest.raises(UserError, match=r"status -9 \(killed"):
        list(workers.ordered_map(eval, kill, 2))


def test_another_exception_comes_with_its_traceback():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        list(workers.ordered_map(eval, ["1"] * 10 + ["1 / 0"], 2))
