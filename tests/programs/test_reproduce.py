"""`kt-reproduce` as a user calls it: rows, a kill, a restart, a join, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest

from keras_transformer.cli.reproduce import main
from keras_transformer.problems.grammar import made_up_trees
from keras_transformer.scoring.brackets import score_tree_files
from keras_transformer.training import checkpoints

ROOT = Path(__file__).parents[2]
SIDES = {"source": "src", "target": "tgt"}
TINY = "num_hidden_layers=1,hidden_size=16,num_heads=2,filter_size=32"
QUICK = "batch_size=60,batch_shuffle_size=8,learning_rate_warmup_steps=10"
GOAL = 60


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Twelve pairs for everything, and three of them as a test set."""
    folder = tmp_path_factory.mktemp("corpus")
    words = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]
    words += ["elf", "zwölf"]
    source = [f"{n} {n + 1} {n + 2}" for n in range(12)]
    target = [" ".join(words[(n + k) % 12] for k in range(3)) for n in range(12)]
    for name, number in (("train", 12), ("dev", 12), ("test", 3)):
        (folder / f"{name}.src").write_text("\n".join(source[:number]) + "\n")
        (folder / f"{name}.tgt").write_text("\n".join(target[:number]) + "\n")
    return folder


def arguments(corpus: Path, output_dir: Path, table: int = 3, *more: str) -> list[str]:
    files = [f"--{s}_{k}={corpus}/{s}.{e}" for s in ("train", "dev") for k, e in SIDES.items()]
    return [
        *(f"--table={table}", "--problem=text2text", "--vocab_size=80", *files),
        *(f"--data_dir={corpus}/data", f"--output_dir={output_dir}", "--base_hparams=tiny"),
        *(f"--hparams={TINY},{QUICK}", "--deterministic", *more),
    ]


def two_rows(corpus: Path, output_dir: Path) -> list[str]:
    return arguments(
        *(corpus, output_dir, 3),
        *("--rows=base,C6", f"--steps={GOAL}", "--save_steps=5", "--lines=4"),
    )


def table(folder: Path, number: int = 3) -> dict:
    return json.loads((folder / f"table{number}.json").read_text())


def without_times(content: dict) -> dict:
    """Everything but what was measured with a clock."""
    timed = ("seconds_per_step", "flops_per_second", "training_seconds")
    rows = {
        name: {key: value for key, value in row.items() if key not in timed}
        for name, row in content["rows"].items()
    }
    return {**content, "rows": rows}


def log_of(run_dir: Path, event: str) -> list[dict]:
    lines = (run_dir / "train_log.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["event"] == event]


@pytest.fixture(scope="module")
def straight(corpus, tmp_path_factory) -> Path:
    """Two rows, never stopped."""
    folder = tmp_path_factory.mktemp("straight")
    assert main(two_rows(corpus, folder)) == 0
    return folder


@pytest.mark.slow
def test_figures_stand_beside_the_papers(straight):
    content = table(straight)
    base, variant = content["rows"]["base"], content["rows"]["C6"]
    assert base["paper"] == {
        **{"perplexity": 4.92, "bleu": 25.8, "parameters_millions": 65, "steps": 100_000}
    }
    assert variant["paper"]["bleu"] == 25.4 and variant["plan"]["change"] == "d_ff=16"
    assert variant["plan"]["hparams"]["filter_size"] == 16
    # A half of the feed-forward width 32 less in each of two layers: 2 * 16 * 16 weights, 16
    # biases.
    assert base["parameters"] - variant["parameters"] == 2 * (2 * 16 * 16 + 16)
    for row in (base, variant):
        assert 1 < row["perplexity"] < 80 and row["plan"]["scored_lines"] == 4
        assert 0 <= row["bleu"]["sacrebleu"]["score"] <= 100
        assert row["seconds_per_step"] > 0
        assert row["flops_per_second"] == pytest.approx(
            row["flops_per_step"] / row["seconds_per_step"]
        )
        # Three words and the end of the sentence; each number is one subtoken or more.
        assert row["dev_words"] == 48 and row["dev_subwords"] >= 48
    assert variant["flops_per_step"] < base["flops_per_step"]
    page = (straight / "table3.md").read_text()
    assert max(map(len, page.splitlines())) <= 100
    assert f"{GOAL} updates for the paper's 100,000" in page
    assert page.count("hidden_size 16 for 512") == 1


@pytest.mark.slow
def test_a_row_is_a_run_directory_with_its_translation(straight):
    for row in ("base", "C6"):
        assert checkpoints.all_steps(straight / row)[-1] == GOAL
        scored = straight / row / "scored"
        assert len((scored / "translation.txt").read_text().splitlines()) == 4
        assert len((scored / "reference.txt").read_text().splitlines()) == 4


@pytest.mark.slow
def test_stopped_and_killed_it_ends_with_the_table_of_rows_never_stopped(
    corpus, straight, tmp_path
):
    """Ctrl-C in the first row's training, sent to the whole process group as a terminal does; a
    kill without warning in the second's: its process goes with it, the first row is left as it
    is. Both rows go on from their checkpoints."""
    folder = tmp_path / "killed"
    base, second = folder / "base", folder / "C6"
    process = started_until(base, two_rows(corpus, folder))
    os.killpg(process.pid, signal.SIGINT)
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 130 and "the same command goes on" in messages
    assert "Traceback" not in messages
    assert not (folder / "table3.json").exists()
    assert log_of(base, "end")[0]["reason"] == "interrupted"
    assert checkpoints.all_steps(base)[-1] < GOAL

    process = started_until(second, two_rows(corpus, folder))
    process.kill()
    process.communicate(timeout=120)
    assert checkpoints.all_steps(second)[-1] < GOAL
    first_result = base / "row_result.json"
    written = first_result.stat().st_mtime_ns
    assert table(folder)["rows"].keys() == {"base"}

    assert main(two_rows(corpus, folder)) == 0
    assert first_result.stat().st_mtime_ns == written
    assert all(len(log_of(row, "resume")) == 1 for row in (base, second))
    assert without_times(table(folder)) == without_times(table(straight))


def started_until(row_dir: Path, flags: list[str]) -> subprocess.Popen[str]:
    """The program, as soon as a row has its first checkpoint."""
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_transformer.cli.reproduce", *flags],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while not (row_dir.is_dir() and checkpoints.all_steps(row_dir)):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return process


@pytest.mark.slow
def test_rows_of_two_machines_are_joined(straight, tmp_path, capsys):
    for number, row in enumerate(("base", "C6")):
        shutil.copytree(straight / row, tmp_path / f"machine{number}" / row)
    folders = f"{tmp_path}/machine0,{tmp_path}/machine1/C6"
    assert main([f"--join={folders}", f"--output_dir={tmp_path}/joined"]) == 0
    assert capsys.readouterr().out == (straight / "table3.md").read_text()
    assert table(tmp_path / "joined") == table(straight)
    assert main([f"--join={folders}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == table(straight)
    # The same row with other figures is no second opinion but a mistake.
    changed = tmp_path / "machine1" / "base"
    shutil.copytree(straight / "base", changed)
    result = json.loads((changed / "row_result.json").read_text())
    (changed / "row_result.json").write_text(json.dumps({**result, "perplexity": 2.0}))
    assert main([f"--join={tmp_path}/machine0,{tmp_path}/machine1"]) == 2
    assert "row base is in" in capsys.readouterr().err


@pytest.mark.slow
def test_other_settings_are_refused(corpus, straight, capsys):
    before = (straight / "table3.md").read_text()
    for flag, shown in {
        f"--steps={GOAL + 1}": f"steps: {GOAL} there, {GOAL + 1} now",
        f"--hparams={TINY},{QUICK},label_smoothing=0.2": "label_smoothing: 0.1 there, 0.2 now",
        "--beam_size=2": "beam_size: 4 there, 2 now",
        "--lines=5": "max_lines: 4 there, 5 now",
    }.items():
        assert main([*two_rows(corpus, straight), flag]) == 2
        assert shown in capsys.readouterr().err
    assert (straight / "table3.md").read_text() == before


@pytest.mark.slow
def test_table_2_averages_and_counts_flops(corpus, tmp_path, capsys):
    test_set = f"--test_set={corpus}/test.src,{corpus}/test.tgt"
    command = arguments(
        *(corpus, tmp_path, 2),
        *("--rows=base_ende", "--steps=20", test_set, "--sustained_tflops=9.5"),
    )
    assert main(command) == 0
    row = table(tmp_path, 2)["rows"]["base_ende"]
    # The paper's ten minutes, 1,500 of 100,000 updates, are less than one of 20.
    assert row["plan"]["save_steps"] == 1 and row["plan"]["averaged"] == 5
    averaged = checkpoints.read(checkpoints.path_of(tmp_path / "base_ende" / "averaged", 20))
    assert averaged.train_state["averaged"] == [f"model.ckpt-{n}" for n in range(16, 21)]
    assert row["plan"]["scored_lines"] == 3 and row["paper"]["bleu"] == 27.3
    assert set(row["bleu"]) == {"paper", "t2t_cased", "t2t_uncased", "sacrebleu"}
    expected = row["seconds_per_step"] * 20 * row["replicas"] * 9.5e12
    assert row["flops_by_the_papers_method"] == pytest.approx(expected)
    assert "| base_ende |" in capsys.readouterr().out


@pytest.mark.slow
def test_table_4_parses_and_scores(tmp_path, capsys):
    treebank = tmp_path / "treebank"
    treebank.mkdir()
    trees = made_up_trees(11)
    for name, number in (("train", 200), ("dev", 10), ("test", 6), ("machine", 40)):
        lines = [str(tree) for tree in islice(trees, number)]
        (treebank / f"{name}.trees").write_text("\n".join(lines) + "\n")
    command = [
        *("--table=4", f"--parsing_path={treebank}", f"--data_dir={tmp_path}/data"),
        *(
            f"--output_dir={tmp_path}/runs",
            "--base_hparams=parsing_tiny",
            "--source_vocab_size=300",
        ),
        "--hparams=hidden_size=32,filter_size=32,num_heads=2,num_hidden_layers=1,batch_size=1024",
        *("--steps=10", "--beam_size=2", "--extra_length=20", "--lines=5"),
    ]
    semi = f"--machine_trees={treebank}/machine.trees=0.5"
    assert main([*command, "--rows=semi", semi]) == 0
    (row,) = table(tmp_path / "runs", 4)["rows"].values()
    assert row["plan"]["row"] == "semi" and row["paper"]["f1"] == 92.7
    assert "machine_trees" in row["plan"]["problem_options"]
    assert (tmp_path / "data" / "semi").is_dir()
    found = row["brackets"]
    assert found["sentences"] == 5 and found["left_out"] == 0
    scored = tmp_path / "runs" / "semi" / "scored"
    again = score_tree_files(scored / "reference.txt", scored / "translation.txt").all
    # After ten updates no bracket may be right, and EVALB's F1 of nothing is no number.
    assert 0 <= found["recall"] == again.recall <= 100
    assert 0 <= found["precision"] == again.precision <= 100
    assert found["f1"] == again.fmeasure == found["f1_nothing_left_out"]
    assert row["plan"]["averaged"] == 5
    assert "decoded with beam_size 2 for 21" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--table=5"], "--table"),
        (["--rows=base"], "--table is not given"),
        (["--table=3"], "--output_dir is not given"),
        (["--table=3", "--output_dir=x"], "--data_dir is not given"),
        (["--rows=base,A9"], "there is no row 'A9' in table 3: it has base, A1, A2"),
        (["--base_hparams=small,batch_size=3"], "small,batch_size=3"),
        (["--base_hparams=smal"], "did you mean 'small'"),
        (["--hparams=small"], "--base_hparams takes the place of the paper's base"),
        (["--hparams=batch_sise=3"], "batch_size"),
        (["--problem=no_such"], "no_such"),
        (["--base_hparams=tiny", "--rows=C2"], "the same as row C1"),
        (["--test_set=wmt99"], "nor a test set of sacreBLEU"),
        (["--problem=sample_ende", "--test_set=wmt14"], "does not say what languages it is of"),
        (["--table=2", "--rows=base_ende,base_enfr", "--problem=sample_ende"], "each pair"),
        (["--table=2", "--rows=base_ende", "--save_steps=50000"], "lower --save_steps"),
        (["--table=4", "--rows=semi"], "--machine_trees"),
        (["--table=4", "--problem=sample_ende"], "has no trees"),
        (["--plot=picture.xyz"], "--plot=picture.xyz ends in no image format"),
        (["--plot=no/such/picture.png"], "there is no folder no/such"),
        (["--plot=picture.png", "--rows=A1"], "against the row base: make base and others"),
        (["--random_seed=-1"], "--random_seed=-1: a seed is a whole number"),
        (["--join=a", "--steps=5"], "--steps has no effect on rows that are done"),
        (["--join=,"], "--join=, names no folder"),
        (["--join=/no/such/folder"], "there is no such folder"),
    ],
)
def test_mistakes_are_said_at_once(flags, message, tmp_path, capsys):
    given = " ".join(flags)
    defaults = ["--table=3", f"--output_dir={tmp_path}/out", f"--data_dir={tmp_path}/data"]
    if message.endswith("is not given"):
        defaults = []
    if "--join" in given:
        defaults = []
    wanted = [flag for flag in defaults if flag.split("=")[0] + "=" not in given]
    assert main([*wanted, *flags]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists() and not (tmp_path / "data").exists()


def test_without_network_it_says_how_to_get_the_test_set(tmp_path):
    """sacreBLEU's newstest2014 cannot be had: said before anything else is fetched or made."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{closed.getsockname()[1]}"
    environment = {
        **{name: proxy for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")},
        "SACREBLEU": str(tmp_path / "sacrebleu"),
    }
    inherited = {k: v for k, v in os.environ.items() if k.lower() != "no_proxy"}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "keras_transformer.cli.reproduce", "--table=2"),
            *("--rows=base_ende", f"--data_dir={tmp_path}/data", f"--output_dir={tmp_path}/out"),
            f"--tmp_dir={tmp_path}/tmp",
        ],
        cwd=ROOT,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2, done.stderr
    assert "--test_set=wmt14/full: sacreBLEU could not get it" in done.stderr
    assert "sacrebleu -t wmt14/full -l en-de --echo src > test.en" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()
