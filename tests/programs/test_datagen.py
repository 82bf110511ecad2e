"""kt-datagen as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keras_transformer.cli import datagen
from keras_transformer.data import generation, shards, tfrecord

ROOT = Path(__file__).parents[2]


def _files(tmp_path, lines=40):
    arguments = []
    for split in ("train", "dev"):
        for side in ("source", "target"):
            path = tmp_path / f"{split}.{side}"
            path.write_text("".join(f"{side} line {n} of {split}\n" for n in range(lines)))
            arguments.append(f"--{split}_{side}={path}")
    return arguments


def test_own_text(tmp_path, capsys):
    data = tmp_path / "data"
    arguments = ["--problem=text2text", f"--data_dir={data}", "--vocab_size=50"]
    assert datagen.main([*arguments, *_files(tmp_path), "--num_shards=2"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"text2text train: 2 shards in {data}",
        f"text2text dev: 1 shards in {data}",
    ]
    assert "text2text train: 40 examples" in err
    assert datagen.main([*arguments, *_files(tmp_path)]) == 0
    assert "data is there" in capsys.readouterr().err


def test_packed_text_says_what_padding_was_saved(tmp_path, capsys):
    arguments = ["--problem=text2text", f"--data_dir={tmp_path}/data", "--vocab_size=50"]
    assert datagen.main([*arguments, *_files(tmp_path), "--packed_length=64"]) == 0
    report, saved = capsys.readouterr().out.splitlines()[-2:]
    assert report.startswith("text2text: 40 examples: ")
    assert report.endswith("packed into rows of 64")
    assert saved.startswith("  packing saves ")


def test_a_users_own_problem(tmp_path, capsys):
    package = tmp_path / "my_datagen_problems"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from keras_transformer import Text2TextProblem, VocabType, register_problem\n"
        "@register_problem\n"
        "class MyGreetings(Text2TextProblem):\n"
        "    vocab_type = VocabType.CHARACTER\n"
        "    dataset_splits = [{'split': 'train', 'shards': 1}, {'split': 'dev', 'shards': 1}]\n"
        "    def generate_samples(self, data_dir, tmp_dir, dataset_split):\n"
        "        yield {'inputs': 'A house.', 'targets': 'Ein Haus.'}\n"
    )
    data = tmp_path / "data"
    flags = [f"--usr_dir={package}", "--problem=my_greetings", f"--data_dir={data}"]
    assert datagen.main(flags) == 0
    assert (data / "my_greetings-train-00000-of-00001").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--problem is not given"),
        (["--problem=sample_ende"], "--data_dir is not given"),
        (["--problem=sample_end", "--data_dir=x"], "did you mean 'sample_ende'"),
        (["--problem=nothing*", "--data_dir=x"], "no problem's name has that form"),
        (["--problem=wmt14_ende_rev", "--data_dir=x"], "make that of translate_ende_wmt32k"),
        (["--problem=sample_ende", "--data_dir=x", "--train_source=y"], "no such option"),
        (["--problem=sample_ende", "--data_dir=x", "--task_id=3"], "--task_id does not exist"),
    ],
)
def test_mistakes_are_one_message_and_status_2(arguments, message, capsys):
    assert datagen.main(arguments) == 2
    err = capsys.readouterr().err
    assert message in err and "Traceback" not in err


def test_names_are_listed(capsys):
    assert (
        datagen.main(
            ["--problem=algorithmic_*", "--exclude_problems=algorithmic_copy", "--only_list"]
        )
        == 0
    )
    assert capsys.readouterr().out.split() == ["algorithmic_reverse", "algorithmic_sort"]


def test_help_is_quick_and_loads_no_tensorflow(tmp_path):
    code = (
        "import sys; from keras_transformer.cli import datagen; datagen.main(['--help']);"
        "sys.exit('tensorflow' in sys.modules or 'numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "kt-datagen --problem=wmt14_ende" in done.stdout


@pytest.mark.slow
def test_killed_in_the_middle_and_started_again(tmp_path):
    data = tmp_path / "data"
    arguments = ["--problem=text2text", f"--data_dir={data}", "--vocab_size=300", "--num_workers=2"]
    arguments += _files(tmp_path, lines=60_000)
    command = [sys.executable, "-m", "keras_transformer.cli.datagen", *arguments]
    running = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True)
    unshuffled = data / "text2text.partial" / "text2text-unshuffled-train-00000-of-00010"
    while not unshuffled.exists():
        assert running.poll() is None, "ended before it could be killed"
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert not shards.is_complete(str(data), "text2text", ["train", "dev"])
    vocabulary = (data / "vocab.text2text.300.subwords").read_bytes()

    assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == 0
    assert (data / "vocab.text2text.300.subwords").read_bytes() == vocabulary
    counts = [tfrecord.count_records(p) for p in shards.find(str(data), "text2text", "train")]
    assert counts == [6000] * 10
    assert generation.read_manifest(str(data), "text2text")["splits"]["dev"]["examples"] == 60_000
    assert not (data / "text2text.partial").exists()
