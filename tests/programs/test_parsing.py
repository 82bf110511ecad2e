"""From files of trees to F1: the programs a parsing user calls, on a few made-up trees."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest

from keras_transformer.cli import datagen, decoder, evalb, trainer
from keras_transformer.problems.grammar import made_up_trees
from keras_transformer.run_dir import RunDir
from keras_transformer.scoring.brackets import score_trees
from keras_transformer.text.trees_linearise import source_text
from keras_transformer.text.trees_reading import read_trees
from keras_transformer.training import checkpoints

pytestmark = pytest.mark.slow

SMALL = "parsing_tiny,hidden_size=32,filter_size=32,num_heads=2,num_hidden_layers=1,batch_size=1024"
SENTENCES = 8


@pytest.fixture(scope="module")
def parser(tmp_path_factory) -> SimpleNamespace:
    """A treebank of one-tree-a-line files, and a parser after a few updates on it."""
    folder = tmp_path_factory.mktemp("parsing")
    treebank, data, run = (folder / name for name in ("treebank", "data", "run"))
    treebank.mkdir()
    trees = made_up_trees(11)
    for name, number in (("train", 300), ("dev", 20), ("test", SENTENCES), ("machine", 40)):
        lines = [str(tree) for tree in islice(trees, number)]
        (treebank / f"{name}.trees").write_text("\n".join(lines) + "\n")
    common = [f"--data_dir={data}", "--problem=wsj_parsing", f"--parsing_path={treebank}"]
    common += [f"--machine_trees={treebank}/machine.trees=0.5", "--max_words=40"]
    common += ["--source_vocab_size=500"]
    assert datagen.main(common) == 0
    steps = ["--train_steps=6", "--schedule=train", "--local_eval_frequency=6"]
    assert trainer.main([*common, f"--output_dir={run}", f"--hparams={SMALL}", *steps]) == 0
    words, gold = (data / f"wsj_parsing.test.{kind}" for kind in ("words", "trees"))
    return SimpleNamespace(
        folder=folder, treebank=treebank, data=data, run=run, words=words, gold=gold
    )


def parse(parser: SimpleNamespace, name: str, *flags: str) -> Path:
    output = parser.folder / name
    arguments = [f"--output_dir={parser.run}", f"--decode_to_file={output}", "--batch_size=8"]
    if not any(flag.startswith("--decode_from_file") for flag in flags):
        arguments.append(f"--decode_from_file={parser.words}")
    assert decoder.main([*arguments, *flags]) == 0
    return output


def figures(parser: SimpleNamespace, output: Path, capsys) -> dict:
    capsys.readouterr()
    assert evalb.main([f"--gold={parser.gold}", f"--test={output}", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_options_are_those_of_the_run(parser):
    problem = RunDir.open(parser.run).problem
    assert problem.options["max_words"] == 40 and problem.options["source_vocab_size"] == 500
    assert problem.options["machine_trees"].endswith("machine.trees=0.5")


def test_every_sentence_gets_a_tree_that_evalb_scores(parser, capsys):
    output = parse(parser, "free", "--beam_size=2", "--extra_length=30")
    report = capsys.readouterr().err
    assert f"{SENTENCES} sentences, " in report and "malformed before repair" in report
    assert len(output.read_text().splitlines()) == SENTENCES
    found = figures(parser, output, capsys)
    assert found["all"]["sentences"] == SENTENCES
    assert found["all"]["error"] == found["all"]["skip"] == 0
    perfect = figures(parser, parser.gold, capsys)
    assert perfect["all"]["fmeasure"] == 100


def test_constrained_outputs_need_no_repair(parser, capsys):
    flags = ["--constrain_brackets", "--beam_size=2", "--extra_length=60"]
    output = parse(parser, "constrained", *flags)
    report = capsys.readouterr().err
    assert f"{SENTENCES} sentences, 0 of them malformed before repair (0.0 %)" in report
    words = parser.words.read_text().splitlines()
    assert [source_text(tree.words()) for _, tree in read_trees(output)] == words
    assert figures(parser, output, capsys)["all"]["error"] == 0


def test_formats_and_raw_text(parser, capsys):
    source = parser.folder / "raw.txt"
    source.write_text('The dog said "no" (twice).\n\nAnna\'s cat sleeps.\n')
    quick = [f"--decode_from_file={source}", "--beam_size=1", "--extra_length=20", "--raw_input"]
    lines = parse(parser, "json", *quick, "--parse_format=json").read_text().splitlines()
    assert len(lines) == 3 and lines[1] == ""
    first = json.loads(lines[0])["words"]
    assert first == ["The", "dog", "said", "``", "no", "''", "(", "twice", ")", "."]
    pretty = parse(parser, "pretty", *quick, "--parse_format=pretty").read_text()
    trees = [tree.words() for _, tree in read_trees(parser.folder / "pretty")]
    assert trees == [first, ["Anna", "'s", "cat", "sleeps", "."]]
    assert len(pretty.splitlines()) > 3
    symbols = parse(parser, "symbols", *quick, "--parse_format=symbols").read_text()
    assert "(" not in symbols and "``" in symbols


def test_evaluation_parses_and_keeps_the_best(parser, capsys):
    run = parser.folder / "evaluated"
    flags = [f"--data_dir={parser.data}", "--problem=wsj_parsing", f"--output_dir={run}"]
    flags += [f"--parsing_path={parser.treebank}", "--source_vocab_size=500", "--max_words=40"]
    flags += [f"--machine_trees={parser.treebank}/machine.trees=0.5", f"--hparams={SMALL}"]
    flags += ["--train_steps=4", "--local_eval_frequency=2", "--eval_throttle_seconds=0"]
    flags += ["--eval_decode", "--eval_decode_lines=4"]
    flags += ["--eval_early_stopping_metric=bracket_fmeasure", "--eval_early_stopping_steps=100"]
    flags += ["--noeval_early_stopping_metric_minimize"]
    assert trainer.main(flags) == 0
    assert "bracket_fmeasure" in capsys.readouterr().err
    records = map(json.loads, (run / "train_log.jsonl").read_text().splitlines())
    evaluations = [record for record in records if record["event"] == "eval"]
    assert [record["step"] for record in evaluations] == [2, 4]
    for record in evaluations:
        assert 0 <= record["bracket_fmeasure"] <= 100 and "bleu_sacrebleu" not in record
        assert 0 <= record["bracket_well_formed"] <= 100
    best = max(evaluations, key=lambda record: record["bracket_fmeasure"])
    assert checkpoints.all_steps(run / "best") == [best["step"]]


def test_a_sweep_is_scored_by_brackets(parser, capsys):
    search = ["--decode_hparams=extra_length=12,beam_size=2"]
    source, gold = (parser.data / f"wsj_parsing.dev.{kind}" for kind in ("words", "trees"))
    output = parse(parser, "dev", f"--decode_from_file={source}", *search, "--alpha=2")
    outputs = output.read_text().splitlines()
    expected = score_trees(gold.read_text().splitlines(), outputs, skipping=False)
    capsys.readouterr()
    sweep = [f"--output_dir={parser.run}", *search, "--sweep_alpha=0,2", "--sweep_beam_size=2"]
    assert decoder.main([*sweep, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    scores = {row["alpha"]: row["score"] for row in report["rows"]}
    assert report["measure"] == "bracket_fmeasure" and list(scores) == [0, 2]
    assert scores[2] == pytest.approx(expected.all.fmeasure or 0)
    perfect = [f"--decode_from_file={source}", f"--reference={output}"]
    assert decoder.main([*sweep, *perfect]) == 0
    _, row, measure = capsys.readouterr().out.splitlines()
    whole = score_trees(outputs, outputs, skipping=False).all.fmeasure or 0
    assert row.split()[2].rstrip("*") == f"{whole:.2f}"
    assert measure == "bracket_fmeasure of 20 sentences"


def test_options_of_other_problems_are_refused(parser, tmp_path, capsys):
    flags = ["--problem=sample_parsing", f"--data_dir={tmp_path}", "--max_words=3"]
    assert datagen.main(flags) == 2
    assert "no such option" in capsys.readouterr().err
