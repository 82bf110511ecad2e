"""An output that cannot be where a flag says: one message, status 2, no TensorFlow loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = ROOT / "tests" / "golden" / "t2t_trainer_run"
VOCABULARY = (
    ROOT / "tests" / "golden" / "data_pipeline" / "data" / "vocab.oracle_toy_ende.256.subwords"
)
TEXT = RUN / "decode_input.txt"
MODEL = [f"--output_dir={RUN}", f"--vocab_file={VOCABULARY}"]
IMPORT = [f"--t2t_model_dir={RUN}", f"--vocab_file={VOCABULARY}"]
NEW_RUN = ["--problem=sample_ende", "--hparams=tiny"]
TABLE = ["--table=3", "--problem=sample_ende", "--rows=base"]
# Where nobody can make anything, root neither; below a file; the file where a folder is needed.
PROC, BELOW_A_FILE, A_FILE = "/proc/made.png", f"{TEXT}/made.png", f"{TEXT}"

# Program, its other flags, the flag of the place, places.
CASES = [
    (program, [*flags, f"--{flag}={place}"], flag)
    for program, flags, flag, places in (
        ("trainer", [*NEW_RUN, "--data_dir=unused"], "output_dir", (PROC, BELOW_A_FILE, A_FILE)),
        ("trainer", [*NEW_RUN, "--output_dir=unused"], "data_dir", (PROC, BELOW_A_FILE, A_FILE)),
        ("datagen", NEW_RUN[:1], "data_dir", (PROC, BELOW_A_FILE, A_FILE)),
        ("avg", [f"--model_dir={RUN}", "--last=1"], "output_dir", (PROC, BELOW_A_FILE, A_FILE)),
        ("exporter", MODEL, "export_dir", (PROC, BELOW_A_FILE, A_FILE)),
        ("import_t2t", IMPORT, "output_dir", (PROC, BELOW_A_FILE, A_FILE)),
        (
            "import_t2t",
            ["--reverse", "--output_dir=unused"],
            "t2t_model_dir",
            (PROC, BELOW_A_FILE, A_FILE),
        ),
        (
            "translate_all",
            [*MODEL, f"--source={TEXT}"],
            "translations_dir",
            (PROC, BELOW_A_FILE, A_FILE, "/proc"),
        ),
        ("decoder", [*MODEL, f"--decode_from_file={TEXT}"], "decode_to_file", (PROC, BELOW_A_FILE)),
        ("attention", [*MODEL, "--source=a", "--png="], "html", (PROC, BELOW_A_FILE)),
        ("attention", [*MODEL, "--source=a", "--html="], "png", (PROC, BELOW_A_FILE)),
        (
            "bleu",
            [f"--translations_dir={RUN}", f"--reference={TEXT}"],
            "plot",
            (PROC, BELOW_A_FILE),
        ),
        ("info", ["--hparams=base"], "plot_schedule", (PROC, BELOW_A_FILE)),
        (
            "info",
            ["--problem=sample_ende", "--data_dir=unused"],
            "plot_lengths",
            (PROC, BELOW_A_FILE),
        ),
        ("reproduce", [*TABLE, "--data_dir=unused"], "output_dir", (PROC, BELOW_A_FILE, A_FILE)),
        ("reproduce", [*TABLE, "--output_dir=unused"], "data_dir", (PROC, BELOW_A_FILE, A_FILE)),
        (
            "reproduce",
            [*TABLE, "--output_dir=unused", "--data_dir=unused"],
            "plot",
            (PROC, BELOW_A_FILE),
        ),
        ("reproduce", [f"--join={RUN}"], "output_dir", (PROC, BELOW_A_FILE, A_FILE)),
        ("reproduce", [f"--join={RUN}"], "plot", (PROC, BELOW_A_FILE)),
    )
    for place in places
]
# All in one interpreter, in which TensorFlow cannot be imported.
ALL = """
import contextlib, importlib, io, json, sys, traceback
sys.modules["tensorflow"] = None
results = []
for program, flags, _ in json.load(sys.stdin):
    error = io.StringIO()
    with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = importlib.import_module("keras_transformer.cli." + program).main(flags)
        except BaseException:
            traceback.print_exc(file=error)
            status = 1
    results.append((status, error.getvalue()))
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{ALL}"],
        input=json.dumps(CASES),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=200,
        check=True,
    )
    assert not list(folder.iterdir()), "a refused program leaves nothing behind"
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=[f"{case[0]} {case[1][-1]}" for case in CASES]
)
def test_a_place_that_cannot_be_written(results, number):
    _, flags, flag = CASES[number]
    status, message = results[number]
    assert status == 2, message
    last = message.splitlines()[-1]
    assert flags[-1].partition("=")[2] in last and last.endswith(f"another --{flag}"), message
    assert "Traceback" not in message
