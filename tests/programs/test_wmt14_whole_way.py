"""WMT14 English-German with the paper's base model, from Tensor2Tensor's archives to a score."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from keras_transformer.data import generation, shards
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.training import checkpoints
from tests.programs.exported import sentences
from tests.programs.test_trainer import ROOT, log_of, start, wait_for_step

# Archive of T2T's name → where it is fetched, and its files without the language.
URLS = {
    "training-parallel-nc-v13.tgz": "http://data.statmt.org/wmt18/translation-task/",
    "training-parallel-commoncrawl.tgz": "http://www.statmt.org/wmt13/",
    "training-parallel-europarl-v7.tgz": "http://www.statmt.org/wmt13/",
    "dev.tgz": "http://data.statmt.org/wmt17/translation-task/",
}
MEMBERS = {
    "training-parallel-nc-v13.tgz": "training-parallel-nc-v13/news-commentary-v13.de-en",
    "training-parallel-commoncrawl.tgz": "commoncrawl.de-en",
    "training-parallel-europarl-v7.tgz": "training/europarl-v7.de-en",
    "dev.tgz": "dev/newstest2013",
}
TRAIN_PAIRS = 300  # of each archive
DEV_PAIRS = 20
TEST_PAIRS = 6
STEPS = 4
SAVED_AT = 2


def run(program: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"keras_transformer.cli.{program}", *flags],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def archives(tmp_path):
    """Real sentences in T2T's archives; the test set as plain files."""
    folder = tmp_path / "corpora"
    folder.mkdir()
    for language in ("en", "de"):
        train = sentences(3 * TRAIN_PAIRS, language, "train")
        texts = [train[first::3] for first in range(3)] + [sentences(DEV_PAIRS, language, "dev")]
        for stem, lines in zip(MEMBERS.values(), texts, strict=True):
            path = tmp_path / "unpacked" / f"{stem}.{language}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        test = sentences(TEST_PAIRS, language, "test")
        text = "".join(f"{line}\n" for line in test)
        (folder / f"newstest2014.{language}").write_text(text, encoding="utf-8")
    for archive, stem in MEMBERS.items():
        with tarfile.open(folder / archive, "w:gz") as tar:
            for language in ("en", "de"):
                member = f"{stem}.{language}"
                tar.add(tmp_path / "unpacked" / member, member)
    return folder


@pytest.mark.slow
def test_from_archives_to_bleu_with_a_kill_in_the_middle(archives, tmp_path):
    data, run_dir = tmp_path / "data", tmp_path / "run"
    command = [
        "--problem=wmt14_ende",
        "--hparams=base,batch_size=256",
        f"--data_dir={data}",
        f"--tmp_dir={archives}",
        f"--output_dir={run_dir}",
        f"--train_steps={STEPS}",
        f"--local_eval_frequency={SAVED_AT}",
        "--keep_checkpoint_max=1",
        "--log_step_count_steps=1",
        "--eval_steps=1",
    ]
    process = start(command)
    wait_for_step(run_dir, process, SAVED_AT)
    process.kill()
    said = process.communicate()[1]
    assert process.returncode == -signal.SIGKILL, said
    assert checkpoints.step_of(checkpoints.latest(run_dir)) == SAVED_AT

    name = "translate_ende_wmt32k"
    assert len(shards.find(str(data), name, "train")) == 100
    assert len(shards.find(str(data), name, "dev")) == 1
    splits = generation.read_manifest(str(data), name)["splits"]
    examples = {split: report["examples"] for split, report in splits.items()}
    assert examples == {"train": 3 * TRAIN_PAIRS, "dev": DEV_PAIRS}
    vocabulary = data / f"vocab.{name}.32768.subwords"
    encoder = SubwordTextEncoder.load(vocabulary)
    assert encoder.vocab_size > 2000
    line = sentences(1, "de", "test")[0]
    assert encoder.decode(encoder.encode(line)) == line
    made = {path.name: path.stat().st_mtime_ns for path in data.iterdir()}

    resumed = run("trainer", *command)
    assert resumed.returncode == 0, resumed.stderr
    assert f"resuming at step {SAVED_AT} of {STEPS}" in resumed.stderr
    assert {path.name: path.stat().st_mtime_ns for path in data.iterdir()} == made
    assert [record["step"] for record in log_of(run_dir, "resume")] == [SAVED_AT]
    (end,) = log_of(run_dir, "end")
    assert (end["step"], end["reason"]) == (STEPS, "finished")
    # In the warm-up the rate is proportional to the step: the schedule went on.
    rates = {record["step"]: record["learning_rate"] for record in log_of(run_dir, "train")}
    assert rates[STEPS] == pytest.approx(rates[SAVED_AT] * STEPS / SAVED_AT)
    assert checkpoints.all_steps(run_dir) == [STEPS]
    assert log_of(run_dir, "eval")[-1]["step"] == STEPS
    settings = json.loads((run_dir / "hparams.json").read_text())
    assert (settings["hidden_size"], settings["num_hidden_layers"]) == (512, 6)
    assert (run_dir / vocabulary.name).read_bytes() == vocabulary.read_bytes()

    translation = tmp_path / "newstest2014.out.de"
    decoded = run(
        "decoder",
        f"--output_dir={run_dir}",
        f"--decode_from_file={archives / 'newstest2014.en'}",
        f"--decode_to_file={translation}",
        "--beam_size=2",
        "--extra_length=3",
    )
    assert decoded.returncode == 0, decoded.stderr
    assert translation.read_text(encoding="utf-8").count("\n") == TEST_PAIRS
    scored = run(
        "bleu",
        f"--translation={translation}",
        f"--reference={archives / 'newstest2014.de'}",
        "--json",
    )
    assert scored.returncode == 0, scored.stderr
    measures = json.loads(scored.stdout)
    assert list(measures) == ["paper", "t2t_cased", "t2t_uncased", "sacrebleu"]
    for measure in measures.values():
        assert measure["segments"] == TEST_PAIRS and measure["signature"]
        assert 0 <= measure["score"] <= 100
    shutil.rmtree(run_dir)  # half a gigabyte, which pytest would keep


@pytest.fixture
def no_network(monkeypatch):
    """Sends what a child process fetches to a proxy that refuses every connection."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and never listens
        proxy = f"http://127.0.0.1:{closed.getsockname()[1]}"
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy)
            monkeypatch.setenv(name.upper(), proxy)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield


@pytest.mark.parametrize("present", [(), ("training-parallel-commoncrawl.tgz", "dev.tgz")])
def test_without_network_it_ends_at_once_with_what_is_missing(no_network, tmp_path, present):
    folder, data, run_dir = (tmp_path / name for name in ("corpora", "data", "run"))
    folder.mkdir()
    for archive in present:
        (folder / archive).touch()
    began = time.monotonic()
    done = run(
        "trainer",
        "--problem=wmt14_ende",
        "--hparams=base",
        f"--data_dir={data}",
        f"--tmp_dir={folder}",
        f"--output_dir={run_dir}",
    )
    assert time.monotonic() - began < 20
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    missing = [archive for archive in URLS if archive not in present]
    # A URL, why it does not answer, the place of the archive, the places of its files.
    entry = r"^  (http\S+)\n      (.+)\n      put it at (.+)\n      or its files at (.+) and (.+)$"
    entries = re.findall(entry, done.stderr, re.MULTILINE)
    assert [(url, *places) for url, _, *places in entries] == [
        (
            URLS[archive] + archive,
            str(folder / archive),
            *(str(Path(folder, f"{MEMBERS[archive]}.{language}")) for language in ("en", "de")),
        )
        for archive in missing
    ]
    assert all("refused" in reason for _, reason, *_ in entries), done.stderr
    assert not data.exists() and not run_dir.exists()
    assert sorted(path.name for path in folder.iterdir()) == sorted(present)
