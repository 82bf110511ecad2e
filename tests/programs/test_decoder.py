"""kt-decoder on a run directory that Tensor2Tensor wrote, against what t2t-decoder wrote."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from keras_transformer import registry
from keras_transformer.cli import decoder
from keras_transformer.cli.decoder import main
from keras_transformer.decoding import decode_file
from keras_transformer.decoding.search_graph import SearchGraph
from keras_transformer.decoding.translator import Translator

GOLDEN = Path(__file__).parents[1] / "golden"
RUN = GOLDEN / "t2t_trainer_run"
DATA = GOLDEN / "data_pipeline" / "data"
VOCABULARY = DATA / "vocab.oracle_toy_ende.256.subwords"
INPUT = RUN / "decode_input.txt"
MODEL = [f"--output_dir={RUN}", f"--vocab_file={VOCABULARY}"]


@pytest.fixture(autouse=True)
def each_model_once(monkeypatch):
    """Runs of the same model share its translator, which saves reading and tracing it again."""
    monkeypatch.setattr(decoder, "load_run", _load_run)
    monkeypatch.setattr(Translator, "of_loaded", _translator)


def _load_run(flags, checkpoint_path):
    # What names a model, not what names its text.
    key = (flags.output_dir, checkpoint_path, flags.problem)
    if key not in _runs:
        _runs[key] = _read_run(flags, checkpoint_path)
    return _runs[key]


def _translator(loaded):
    return _translators.setdefault(id(loaded), _build_translator(loaded))


_runs: dict = {}
_translators: dict = {}
_read_run = decoder.load_run
_build_translator = Translator.of_loaded


def decode(*flags: str) -> None:
    assert main([*MODEL, *flags]) == 0


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], "decode_beam4_alpha06.txt"),
        (["--beam_size=1"], "decode_greedy.txt"),
        (
            ["--decode_hparams=beam_size=4,alpha=0.6,return_beams=True,write_beam_scores=True"],
            "decode_beam4_return_beams.txt",
        ),
    ],
)
def test_same_file_as_t2t_decoder(tmp_path, flags, expected):
    target = tmp_path / "out"
    decode(
        f"--decode_from_file={INPUT}", f"--decode_to_file={target}", "--length_limit=batch", *flags
    )
    assert target.read_text() == (RUN / expected).read_text()
    assert os.listdir(tmp_path) == ["out"]


def feed(monkeypatch, text: str) -> None:
    stream = SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stream)


def test_standard_input_to_standard_output(monkeypatch, capsys):
    feed(monkeypatch, INPUT.read_text())
    decode()
    assert capsys.readouterr().out == (RUN / "decode_beam4_alpha06.txt").read_text()


def test_json_lines_with_n_best(monkeypatch, capsys):
    lines = INPUT.read_text().splitlines()[:2]
    feed(monkeypatch, "\n".join(lines) + "\n")
    decode("--json", "--n_best=3", "--batch_size=1")
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = (RUN / "decode_beam4_return_beams.txt").read_text().splitlines()
    for number, (answer, source, beams) in enumerate(
        zip(answers, lines, expected, strict=False), start=1
    ):
        columns = beams.split("\t")
        assert (answer["line"], answer["source"], answer["text"]) == (number, source, columns[0])
        assert [h["text"] for h in answer["n_best"]] == columns[0:6:2]
        assert [f"{h['score']:.2f}" for h in answer["n_best"]] == columns[1:6:2]
        best = answer["n_best"][0]
        penalty = ((5 + best["length"]) / 6) ** 0.6
        assert best["log_probability"] == pytest.approx(best["score"] * penalty, abs=1e-4)


def test_ids_instead_of_text(monkeypatch, capsys):
    feed(monkeypatch, INPUT.read_text().splitlines()[0] + "\n")
    decode("--decode_hparams=identity_output=True")
    ids = [int(part) for part in capsys.readouterr().out.split()]
    assert len(ids) > 3 and min(ids) > 1


def test_scores_of_given_outputs(tmp_path, capsys):
    sources = INPUT.read_text().splitlines()[:3]
    outputs = (RUN / "decode_beam4_alpha06.txt").read_text().splitlines()[:3]
    pairs = tmp_path / "pairs"
    pairs.write_text("".join(f"{s}\t{t}\n" for s, t in zip(sources, outputs, strict=True)))
    decode(f"--score_file={pairs}")
    losses = [float(line) for line in capsys.readouterr().out.splitlines()]
    scores = [
        float(line.split("\t")[1])
        for line in (RUN / "decode_beam4_return_beams.txt").read_text().splitlines()[:3]
    ]
    from keras_transformer.text.subword_encoder import SubwordTextEncoder

    encoder = SubwordTextEncoder.load(VOCABULARY)
    for loss, score, text in zip(losses, scores, outputs, strict=True):
        length = len(encoder.encode(text)) + 1
        # The score is two decimals of the log-probability over the length penalty.
        assert loss * length == pytest.approx(-score * ((5 + length) / 6) ** 0.6, abs=0.02)


def test_ensemble_of_one_model_twice_is_that_model(tmp_path):
    checkpoint = RUN / "model.ckpt-250"
    target = tmp_path / "out"
    decode(
        f"--checkpoint_path={checkpoint},{checkpoint}",
        f"--decode_from_file={INPUT}",
        f"--decode_to_file={target}",
        "--length_limit=batch",
    )
    assert target.read_text() == (RUN / "decode_beam4_alpha06.txt").read_text()


def test_names_of_outputs_and_shards(tmp_path, capsys):
    lines = INPUT.read_text().splitlines(keepends=True)
    for name, part in (("in001", lines[:2]), ("in-00001-of-00002", lines[2:4])):
        (tmp_path / name).write_text("".join(part))
    decode(f"--decode_from_file={tmp_path}/in", "--decode_hparams=shards=2,shard_id=1,beam_size=1")
    decode(
        f"--decode_from_file={tmp_path}/in",
        "--decode_hparams=shards=2,shard_id=0,shards_start_offset=1,shard_google_format=True",
    )
    suffix = ".transformer.own.text2text"
    assert sorted(set(os.listdir(tmp_path)) - {"in001", "in-00001-of-00002"}) == [
        f"in{suffix}.beam1.alpha0.6.decodes001",
        f"in{suffix}.beam4.alpha0.6.decodes-00001-of-00002",
    ]


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


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A user's folder, imported once."""
    package = tmp_path_factory.mktemp("user") / "oracle_toy"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from keras_transformer import Text2TextProblem, register_problem\n"
        "@register_problem\n"
        "class OracleToyEnde(Text2TextProblem):\n"
        "    approx_vocab_size = 256\n"
    )
    yield package
    # Another file of tests registers a problem of this name.
    registry._problems.pop("oracle_toy_ende", None)


@pytest.fixture
def own_run(tmp_path, package):
    """The same run with its problem: a data set can be decoded."""
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    return [
        f"--output_dir={run}",
        f"--usr_dir={package}",
        "--problem=oracle_toy_ende",
        f"--data_dir={DATA}",
    ]


def test_the_test_set_instead_of_the_dev_set(own_run, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(DATA, data)
    (data / "oracle_toy_ende-train-00000-of-00004").rename(
        data / "oracle_toy_ende-test-00000-of-00001"
    )
    flags = ["--decode_hparams=num_samples=4,beam_size=1", "--extra_length=3"]
    assert main([*own_run[:-1], f"--data_dir={data}", "--eval_use_test_set", *flags]) == 0
    base = tmp_path / "run" / "test.transformer.own.oracle_toy_ende.beam1.alpha0.6"
    pairs = json.loads((GOLDEN / "data_pipeline" / "source_pairs.json").read_text())
    inputs = Path(f"{base}.inputs").read_text().splitlines()
    assert len(inputs) == 4 and set(inputs) <= {pair[0] for pair in pairs["train"]}
    assert Path(f"{base}.decodes").read_text().count("\n") == 4


def test_a_data_set_and_the_sweep(own_run, tmp_path, capsys):
    assert main([*own_run, "--decode_hparams=num_samples=6,beam_size=2", "--extra_length=5"]) == 0
    base = tmp_path / "run" / "dev.transformer.own.oracle_toy_ende.beam2.alpha0.6"
    texts = {end: Path(f"{base}.{end}").read_text() for end in ("decodes", "inputs", "targets")}
    assert all(text.count("\n") == 6 for text in texts.values())
    pairs = json.loads((GOLDEN / "data_pipeline" / "source_pairs.json").read_text())
    known = {(pair[0], pair[1]) for split in pairs.values() for pair in split}
    written = zip(texts["inputs"].splitlines(), texts["targets"].splitlines(), strict=True)
    assert set(written) <= known
    capsys.readouterr()

    sweep = [
        f"--decode_from_file={base}.inputs",
        f"--reference={base}.targets",
        "--sweep_alpha=0,0.6,2",
        "--sweep_beam_size=1,2",
        "--extra_length=5",
    ]
    assert main([*own_run, *sweep]) == 0
    head, greedy, beam, signature = capsys.readouterr().out.splitlines()
    assert head.split() == ["beam", "\\", "alpha", "0", "0.6", "2"]
    assert greedy.split()[0] == "1" and len(set(greedy.replace("*", "").split()[1:])) == 1
    assert beam.split()[0] == "2"
    assert "nrefs:1" in signature
    from keras_transformer.scoring import bleu

    expected = bleu.score_files(f"{base}.decodes", f"{base}.targets", ["sacrebleu"])[0].score
    assert float(beam.split()[2].rstrip("*")) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--output_dir is not given"),
        (["--output_dir=/no/such"], "--output_dir=/no/such: there is no such run directory"),
        ([*MODEL, "--decode_from_file=/no/such"], "/no/such: no such file"),
        ([*MODEL, "--decode_hparams=beam_sise=4"], "there is no 'beam_sise'; did you mean"),
        ([*MODEL, "--decode_hparams=beam_size=x"], "beam_size is 'x': it must be a whole number"),
        ([*MODEL, "--decode_hparams=num_decodes=3"], "num_decodes=3 is not offered"),
        (
            [*MODEL, "--decode_hparams=beam_size=4", "--beam_size=2"],
            "--beam_size=2 and --decode_hparams=beam_size=4 contradict each other",
        ),
        ([*MODEL, "--decode_hparams=write_beam_scores=True"], "needs return_beams=True"),
        (
            [*MODEL, "--checkpoint_path=/no/model.ckpt-1", f"--decode_from_file={INPUT}"],
            "/no/model.ckpt-1",
        ),
        (
            [*MODEL, f"--decode_from_file={INPUT}", "--decode_interactive"],
            "different jobs: give one",
        ),
        ([*MODEL, f"--score_file={INPUT}"], "line 1: there is no tab"),
        ([*MODEL, f"--score_file={INPUT}", "--sweep_alpha=0"], "different jobs: give one"),
        ([*MODEL, "--sweep_beam_size=nan"], "--sweep_beam_size: 'nan' is not a whole number"),
        ([*MODEL, "--sweep_beam_size=4,0"], "beam_size is 0: it must be at least 1"),
        ([*MODEL, "--sweep_alpha=high"], "--sweep_alpha: 'high' is not a number"),
        ([*MODEL, "--sweep_alpha=1", "--decode_hparams=sample=True"], "a sweep searches"),
        ([*MODEL, "--sweep_alpha=1", "--parse_format=pretty"], "a sweep scores trees"),
        ([*MODEL, f"--decode_from_file={RUN}"], "is no regular file"),
        (
            [*MODEL, f"--decode_from_file={INPUT}", f"--decode_to_file={INPUT}/below/out"],
            f"{INPUT}/below cannot be made (Not a directory): name another",
        ),
        (
            [*MODEL, f"--decode_from_file={INPUT}", "--decode_to_file=/dev/null"],
            "--decode_to_file=/dev/null is no regular file",
        ),
        ([*MODEL, "--model=lstm", f"--decode_from_file={INPUT}"], "only transformer is there"),
    ],
)
def test_mistakes(capsys, flags, message):
    assert main(flags) == 2
    assert message in capsys.readouterr().err


def test_standard_input_is_closed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    for flags in ([], ["--decode_interactive"]):
        assert main([*MODEL, *flags]) == 2
        assert "standard input is closed: give --decode_from_file" in capsys.readouterr().err


def test_the_input_is_never_the_output(tmp_path, capsys):
    text = tmp_path / "text"
    text.write_text("a b\n")
    (tmp_path / "link").symlink_to(text)
    for output in (text, tmp_path / "link"):
        assert main([*MODEL, f"--decode_from_file={text}", f"--decode_to_file={output}"]) == 2
        assert "is the input itself, which would be lost" in capsys.readouterr().err
    assert text.read_text() == "a b\n"


def test_interactive(monkeypatch, capsys):
    feed(monkeypatch, "ns=2\nZoë describes the child.\nns=x\nq\n")
    decode("--decode_interactive")
    out = capsys.readouterr().out
    assert "ns=2 dl=50" in out and "'ns=x': give a whole number" in out
    columns = (RUN / "decode_beam4_return_beams.txt").read_text().splitlines()[1].split("\t")
    answers = re.findall(r"(-\d+\.\d{4})  (.*)", out)
    assert [text for _, text in answers] == columns[0:4:2]
    for (score, _), expected in zip(answers, columns[1:4:2], strict=True):
        assert float(score) == pytest.approx(float(expected), abs=0.006)
