"""kt-decoder stopped or killed, and started again: the file becomes the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keras_transformer.cli.decoder import main
from keras_transformer.decoding import decode_file
from keras_transformer.decoding.search_graph import SearchGraph
from keras_transformer.decoding.translator import Translator
from tests.programs.t2t_run import INPUT, MODEL, RUN, VOCABULARY, decode

pytestmark = pytest.mark.usefixtures("each_model_once")


def test_a_stopped_decode_goes_on_where_it_stood(tmp_path, monkeypatch, caplog):
    lines = INPUT.read_text().splitlines(keepends=True)
    source, target, whole = (tmp_path / name for name in ("in", "out", "whole"))
    source.write_text("".join(lines * 5))
    flags = [f"--decode_from_file={source}", "--batch_size=2", "--extra_length=5"]
    decode(*flags, f"--decode_to_file={whole}")

    search = SearchGraph.search
    calls = 0

    def dies(self, *args, **kwargs):
        nonlocal calls
        calls += 1
        if calls > 20:  # in the second window of 16 batches
            raise KeyboardInterrupt
        return search(self, *args, **kwargs)

    monkeypatch.setattr(SearchGraph, "search", dies)
    assert main([*MODEL, *flags, f"--decode_to_file={target}"]) == 130
    partial = tmp_path / "out.partial"
    assert partial.read_text() == "".join(whole.read_text().splitlines(keepends=True)[:32])
    assert not target.exists()
    with partial.open("a") as stream:
        stream.write("half a li")  # as a kill in the middle of a write leaves it

    calls, decoded = 0, []

    def counts(self, inputs, *args, **kwargs):
        decoded.append(len(inputs))
        return search(self, inputs, *args, **kwargs)

    monkeypatch.setattr(SearchGraph, "search", counts)
    decode(*flags, f"--decode_to_file={target}")
    assert target.read_text() == whole.read_text()
    assert sum(decoded) == len(lines) * 5 - 32
    assert sorted(os.listdir(tmp_path)) == ["in", "out", "whole"]


@pytest.mark.parametrize("stopped_after", [1, 3, 5])
def test_a_stopped_decode_under_the_limit_of_the_batch_goes_on(
    tmp_path, monkeypatch, stopped_after
):
    lines = INPUT.read_text().splitlines(keepends=True)
    lines[3:3] = ["\n", "  \n"]
    source, target, whole = (tmp_path / name for name in ("in", "out", "whole"))
    source.write_text("".join(lines))
    flags = [f"--decode_from_file={source}", "--batch_size=3", "--length_limit=batch"]
    decode(*flags, f"--decode_to_file={whole}")
    answers = {line["line"]: line["text"] for line in _in_memory(lines, batch_size=3)}
    assert whole.read_text().splitlines() == [answers[n + 1] for n in range(len(lines))]

    search, decoded = SearchGraph.search, []

    def dies(self, inputs, *args, **kwargs):
        if len(decoded) == stopped_after:
            raise KeyboardInterrupt
        decoded.append(len(inputs))
        return search(self, inputs, *args, **kwargs)

    monkeypatch.setattr(decode_file, "BATCHES_OF_A_WINDOW", 1)
    monkeypatch.setattr(SearchGraph, "search", dies)
    assert main([*MODEL, *flags, f"--decode_to_file={target}"]) == 130
    partial = tmp_path / "out.partial"
    # A kill in the middle of a write leaves part of a batch, and part of a line.
    kept = partial.read_text().splitlines(keepends=True)
    assert len(kept) == 3 * stopped_after
    partial.write_text("".join(kept[:-1]) + kept[-1][:2])

    decoded.clear()
    stopped_after = -1
    decode(*flags, f"--decode_to_file={target}")
    assert target.read_text() == whole.read_text()
    assert sum(decoded) == len(lines) - 2 - (len(kept) - 3)  # the batch cut off is done again
    assert sorted(os.listdir(tmp_path)) == ["in", "out", "whole"]


def _in_memory(lines, **options):
    translator = Translator.load(RUN, vocab_file=str(VOCABULARY))
    found = translator.translate(
        [each.rstrip("\n") for each in lines], length_limit="batch", **options
    )
    return [{"line": number, "text": each.text} for number, each in enumerate(found, start=1)]


@pytest.mark.parametrize("change", ["input", "alpha"])
def test_a_partial_file_of_something_else_is_not_continued(tmp_path, monkeypatch, capsys, change):
    lines = INPUT.read_text().splitlines(keepends=True)
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_text("".join(lines))
    flags = [f"--decode_from_file={source}", f"--decode_to_file={target}", "--batch_size=1"]
    search = SearchGraph.search
    calls = 0

    def dies(self, *args, **kwargs):
        nonlocal calls
        calls += 1
        if calls > 17:
            raise KeyboardInterrupt
        return search(self, *args, **kwargs)

    monkeypatch.setattr(SearchGraph, "search", dies)
    assert main([*MODEL, *flags]) == 130
    monkeypatch.setattr(SearchGraph, "search", search)
    if change == "input":
        source.write_text("".join(reversed(lines)))
        name = "input"
    else:
        flags.append("--alpha=1")
        name = "options"
    decode(*flags)
    assert f"was made with another {name}: begun anew" in capsys.readouterr().err
    fresh = tmp_path / "fresh"
    decode(flags[0], f"--decode_to_file={fresh}", *flags[2:])
    assert target.read_text() == fresh.read_text()


def test_two_writers_of_one_file(tmp_path, capsys):
    with decode_file.PartialFile(tmp_path / "out", {}):
        status = main(
            [*MODEL, f"--decode_from_file={INPUT}", f"--decode_to_file={tmp_path / 'out'}"]
        )
    assert status == 2
    assert "is being written by another process" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("limit", [[], ["--length_limit=batch"]], ids=["sentence", "batch"])
def test_killed_decode_of_2000_lines(tmp_path, limit):
    lines = INPUT.read_text().splitlines(keepends=True)
    source, target, whole = (tmp_path / name for name in ("in", "out", "whole"))
    source.write_text("".join((lines * 120)[:2000]))
    flags = [*MODEL, f"--decode_from_file={source}", "--extra_length=8", *limit]
    assert main([*flags, f"--decode_to_file={whole}"]) == 0
    command = [sys.executable, "-m", "keras_transformer.cli.decoder", *flags]
    command.append(f"--decode_to_file={target}")
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL)
    partial = tmp_path / "out.partial"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (partial.exists() and partial.stat().st_size):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not target.exists()
    done = partial.read_text().count("\n")
    assert 0 < done < 2000
    assert main([*flags, f"--decode_to_file={target}"]) == 0
    assert target.read_text() == whole.read_text()
