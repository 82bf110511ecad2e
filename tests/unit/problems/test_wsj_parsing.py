"""The parsing problems: names, vocabularies, data, and what becomes of decoded symbols."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from keras_transformer import registry
from keras_transformer.data import example_format, generation, tfrecord
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.errors import UserError
from keras_transformer.problems.grammar import made_up_trees
from keras_transformer.text.trees_labels import PENN_TREEBANK_LABELS, LabelInventory
from keras_transformer.text.trees_linearise import linearised_texts
from keras_transformer.text.trees_reading import read_trees
from keras_transformer.text.trees_repair import Repairs


@pytest.fixture(scope="module")
def treebank(tmp_path_factory) -> Path:
    """A treebank of made-up trees in the LDC's layout, and a machine-parsed file beside it."""
    folder = tmp_path_factory.mktemp("treebank")
    trees = made_up_trees(seed=11)
    for number in range(2, 24):
        place = folder / "wsj" / f"{number:02d}"
        place.mkdir(parents=True)
        lines = [
            str(tree).replace("(TOP ", "( ").replace("(NP ", "(NP-SBJ ", 1)
            for tree in islice(trees, 10)
        ]
        (place / f"wsj_{number:02d}01.mrg").write_text("\r\n".join(lines) + "\r\n")
    with (folder / "machine.trees").open("w") as stream:
        stream.writelines(f"{tree}\n" for tree in islice(trees, 40))
        stream.write("(TOP (NN broken)\n")
    return folder


def make_data(problem, data_dir: Path, tmp_dir: Path) -> None:
    data_dir.mkdir(exist_ok=True)
    generation.generate(problem, str(data_dir), str(tmp_dir), num_workers=1)


def examples(problem, data_dir: Path, split: str) -> list[dict[str, list[int]]]:
    return [
        example_format.decode_example(record)
        for path in problem.shard_paths(str(data_dir), split)
        for record in tfrecord.read_records(path)
    ]


def test_names_sizes_and_spaces():
    for name, source, target in [
        ("wsj_parsing", "vocab.wsj_parsing.source.16384.subwords",
         "vocab.wsj_parsing.target.512.subwords"),
        ("wsj_parsing_tokens_16k", "wsj_source.tokens.vocab.16384", "wsj_target.tokens.vocab.512"),
        ("parsing_english_ptb16k", "wsj_source.vocab.16384", "wsj_target.vocab.512"),
        ("parsing_english_ptb8k", "vocab.endefr.8192", "vocab.endefr.8192"),
    ]:  # fmt: skip
        problem = registry.problem(name)
        assert problem.name == name
        assert problem.vocab_files() == {"inputs": source, "targets": target}
        assert (problem.input_space_id, problem.target_space_id) == (3, 15)
    assert registry.problem("parsing_english_ptb8k").loss_multiplier == 2.0
    large = registry.problem("wsj_parsing", machine_trees="x.trees")
    assert large.vocab_files()["inputs"] == "vocab.wsj_parsing.source.32768.subwords"
    assert registry.problem("wsj_parsing").approx_source_vocab_size == 2**14
    assert registry.problem("wsj_parsing").approx_target_vocab_size == 2**9


def test_data_of_an_ldc_treebank(treebank, tmp_path):
    problem = registry.problem("wsj_parsing")
    make_data(problem, tmp_path, treebank)
    assert problem.is_generated(str(tmp_path))
    assert [len(examples(problem, tmp_path, split)) for split in ("train", "dev", "test")] == [
        200, 10, 10,
    ]  # fmt: skip

    encoders = problem.encoders(str(tmp_path))
    assert encoders["inputs"] is not encoders["targets"]
    gold = [linearised_texts(tree) for _, tree in read_trees(tmp_path / "wsj_parsing.dev.trees")]
    written = {
        (encoders["inputs"].decode(e["inputs"][:-1]), encoders["targets"].decode(e["targets"][:-1]))
        for e in examples(problem, tmp_path, "dev")
    }
    assert written == set(gold)  # shards are shuffled, gold files are not
    assert all(e["inputs"][-1] == e["targets"][-1] == 1 for e in examples(problem, tmp_path, "dev"))
    assert "NP-SBJ" not in "".join(symbols for _, symbols in gold)

    words = (tmp_path / "wsj_parsing.dev.words").read_text().splitlines()
    assert words == [sentence for sentence, _ in gold]
    assert words == list(problem.source_lines("dev", str(tmp_path), str(treebank)))
    labels = LabelInventory.load(tmp_path / "wsj_parsing.labels.json")
    assert "NP" in labels.phrases and "NN" in labels.tags and "," in labels.punctuation
    assert problem.companion_files() == ["wsj_parsing.labels.json"]


def test_data_is_used_where_the_treebank_is_not(treebank, tmp_path):
    (tmp_path / "own.trees").write_text(f"{next(made_up_trees(1))}\n")
    options = {name: str(tmp_path / "own.trees") for name in ("train_trees", "dev_trees")}
    make_data(registry.problem("wsj_parsing", **options), tmp_path, treebank)
    elsewhere = {name: "/no/such/file.trees" for name in options}
    problem = registry.problem("wsj_parsing", **elsewhere)
    make_data(problem, tmp_path, Path())
    assert len(list(problem.source_lines("dev", str(tmp_path)))) == 1


def test_parses_are_scored_against_the_gold_trees(treebank, tmp_path):
    problem = registry.problem("wsj_parsing")
    from_corpus = list(problem.scoring_lines("dev", tmp_dir=str(treebank)))
    make_data(problem, tmp_path, treebank)
    pairs = list(problem.scoring_lines("dev", str(tmp_path), "/no/treebank"))
    assert pairs == from_corpus and len(pairs) == 10
    sentences, gold = zip(*pairs, strict=True)
    assert list(sentences) == list(problem.source_lines("dev", str(tmp_path), str(treebank)))

    perfect = problem.score_outputs(gold, gold)
    assert perfect[problem.best_figure] == perfect["bracket_tagging_accuracy"] == 100
    assert "bracket_well_formed" not in perfect  # nothing was decoded
    for sentence in sentences:
        problem.count_output("S NN", sentence)
    flat = [problem.finish_output("", sentence) for sentence in sentences]
    poor = problem.score_outputs([*gold[:5], *flat[5:]], gold)
    # Flat trees have no bracket but TOP, which does not count: half is found, nothing is wrong.
    assert 0 < poor["bracket_recall"] < 100 == poor["bracket_precision"]
    assert poor["bracket_complete_match"] == 50
    assert poor["bracket_well_formed"] == 0
    assert "bracket_well_formed" not in problem.score_outputs(gold, gold)
    # A sentence whose words do not agree is not found, instead of being left out.
    lost = problem.score_outputs(["(TOP (NN lost))"] * 10, gold)
    assert lost["bracket_fmeasure"] == lost["bracket_recall"] == 0


def test_turned_round_it_is_text_and_scored_by_bleu(treebank):
    problem = registry.problem("wsj_parsing_rev")
    pairs = list(problem.scoring_lines("dev", tmp_dir=str(treebank)))
    words = [words for _, words in pairs]
    assert words == list(problem.reference_lines("dev", tmp_dir=str(treebank)))
    assert problem.score_outputs(words, words) == {
        "bleu_sacrebleu": pytest.approx(100),
        "bleu_t2t_uncased": pytest.approx(100),
    }
    assert problem.best_figure == "bleu_sacrebleu"


def test_function_tags_may_be_kept(treebank):
    problem = registry.problem("wsj_parsing", keep_function_tags=True, dev_sections="21-22")
    trees = list(problem.trees("dev", str(treebank)))
    assert len(trees) == 20
    assert "NP-SBJ" in "".join(map(str, trees))
    again = registry.problem("wsj_parsing", **json.loads(json.dumps(problem.options)))
    assert list(again.trees("dev", str(treebank))) == trees


def test_mixing_gold_and_machine_trees(treebank, caplog):
    machine = treebank / "machine.trees"
    problem = registry.problem(
        "wsj_parsing", machine_trees=f"{machine}=0.25", gold_weight=2, max_words=1_000
    )
    trees = list(problem.trees("train", str(treebank)))
    assert len(trees) == 2 * 200 + 10
    assert trees[0] == trees[1]
    assert [str(tree) for tree in trees[-10:]] == machine.read_text().splitlines()[3:40:4]
    assert "machine.trees:41: 1 of its brackets are not closed" in caplog.text
    assert len(list(problem.trees("dev", str(treebank)))) == 10  # never mixed or weighted


def test_long_sentences_are_left_out_of_training_and_counted(treebank, caplog):
    caplog.set_level("INFO")
    problem = registry.problem("wsj_parsing", max_words=10)
    kept = list(problem.trees("train", str(treebank)))
    assert 0 < len(kept) < 200 and max(len(tree.words()) for tree in kept) <= 10
    assert f"{200 - len(kept)} of more than max_words=10 words" in caplog.text
    assert len(list(problem.trees("dev", str(treebank)))) == 10


def test_the_shared_vocabulary_of_t2t(treebank, tmp_path):
    problem = registry.problem("wsj_parsing", vocab_style="t2t")
    make_data(problem, tmp_path, treebank)
    shared = "vocab.wsj_parsing.32768.subwords"
    assert problem.vocab_files() == {"inputs": shared, "targets": shared}
    assert (tmp_path / shared).is_file()

    found = registry.problem("wsj_parsing")
    assert found.is_generated(str(tmp_path))
    assert found.vocab_files() == {"inputs": shared, "targets": shared}
    assert found.options["vocab_style"] == "t2t"
    encoders = found.encoders(str(tmp_path))
    assert encoders["inputs"] is encoders["targets"]


def test_missing_trees_say_what_is_needed(tmp_path):
    problem = registry.problem("wsj_parsing")
    with pytest.raises(UserError) as error:
        make_data(problem, tmp_path / "data", tmp_path)
    for part in ("train and dev", str(tmp_path), "LDC99T42", "wsj_0201.mrg", "train.trees"):
        assert part in str(error.value)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"vocab_style": "joint"}, "separate, t2t"),
        ({"gold_weight": 0}, "positive"),
        ({"train_sections": "2-99"}, "from 00 to 24"),
        ({"machine_trees": "a=x"}, "positive number"),
        ({"no_such_option": 1}, "no such option"),
    ],
)
def test_options_that_are_none(options, message):
    with pytest.raises(UserError, match=message):
        registry.problem("wsj_parsing", **options)


def test_fixed_names_have_fixed_sizes():
    with pytest.raises(UserError, match="its name fixes the vocabulary at 16384"):
        registry.problem("wsj_parsing_tokens_16k", source_vocab_size=2**15)


# ---- sentences in, trees out ----------------------------------------------------------------


def test_decoded_symbols_become_a_tree_over_the_input():
    problem = registry.problem("wsj_parsing")
    line = problem.finish_output("S NP DT NN /NP VP VBZ /VP . /S", "The ( sleeps .")
    assert line == "(TOP (S (NP (DT The) (NN -LRB-)) (VP (VBZ sleeps)) (. .)))"
    assert problem.finish_output("S NP DT /NP", "A b") == "(TOP (S (NP (DT A)) (NN b)))"
    assert problem.decode_report() == ""
    problem.count_output("S NP DT NN /NP VP VBZ /VP . /S", "The ( sleeps .")
    problem.count_output("S NP DT /NP", "A b")
    assert problem.decode_report() == (
        "2 sentences, 1 of them malformed before repair (50.0 %); repairs: unclosed_brackets 1,"
        " missing_tags 1"
    )
    assert problem.repairs == Repairs(
        sentences=2, malformed_sentences=1, unclosed_brackets=1, missing_tags=1
    )


def test_formats_and_raw_text():
    problem = registry.problem("wsj_parsing")
    problem.raw_input = True
    assert (
        problem.prepare_input('Don\'t say "a/b" (c).') == "Do n't say `` a\\/b '' -LRB- c -RRB- ."
    )
    problem.parse_format = "json"
    parse = json.loads(problem.finish_output("S VP VB RB /VP . /S", "Don't."))
    assert parse["words"] == ["Do", "n't", "."]
    assert parse["repairs"]["malformed_sentences"] == 0
    sample = registry.problem("sample_parsing")
    assert sample.prepare_input(" a/b  (c) ") == "a/b -LRB-c-RRB-"


def test_settings_and_defaults_of_decoding():
    problem = registry.problem("wsj_parsing")
    assert DecodeOptions(**problem.decode_defaults).beam_size == 21
    assert not problem.output_has_lines
    problem.set_decode_settings(parse_format="pretty", raw_input=True)
    assert problem.raw_input and problem.output_has_lines
    with pytest.raises(UserError, match="translate_ende_wmt32k has no setting parse_format"):
        registry.problem("wmt14_ende").set_decode_settings(parse_format="tree")


def test_labels_are_read_beside_the_vocabulary(tmp_path, caplog):
    problem = registry.problem("wsj_parsing")
    assert problem.labels is PENN_TREEBANK_LABELS
    assert "the labels of the Penn Treebank are taken" in caplog.text
    LabelInventory.learn(islice(made_up_trees(1), 50)).save(tmp_path / problem.labels_filename)
    problem.load_labels(str(tmp_path))
    assert problem.labels.phrases["NP"] > 1


def test_reversed_problems_put_out_words():
    problem = registry.problem("wsj_parsing_rev")
    assert problem.target_space_id == 3
    assert problem.finish_output("The cat", "NP DT NN /NP") == "The cat"
    assert problem.prepare_input("a ( b") == "a ( b"


# ---- the embedded sample --------------------------------------------------------------------


def test_sample_parsing_is_the_same_everywhere_and_holds_its_test_set_out():
    problem = registry.problem("sample_parsing")
    train = {tuple(tree.words()) for tree in islice(problem.trees("train", ""), 3_000)}
    dev, test = ([tuple(t.words()) for t in problem.trees(split, "")] for split in ("dev", "test"))
    assert len(dev) == len(test) == 500
    assert train.isdisjoint(dev) and train.isdisjoint(test)
    assert dev == [tuple(tree.words()) for tree in problem.trees("dev", "")]


def test_sample_parsing_data(tmp_path):
    problem = registry.problem("sample_parsing")
    problem.train_trees, problem.evaluation_trees = 600, 20
    make_data(problem, tmp_path, tmp_path)
    counts = [len(examples(problem, tmp_path, split)) for split in ("train", "dev", "test")]
    assert counts == [600, 20, 20]
    assert len((tmp_path / "sample_parsing.test.trees").read_text().splitlines()) == 20
    encoders = problem.encoders(str(tmp_path))
    for _, tree in read_trees(tmp_path / "sample_parsing.test.trees"):
        words, symbols = linearised_texts(tree)
        assert encoders["targets"].decode(encoders["targets"].encode(symbols)) == symbols
        assert problem.finish_output(symbols, words) == str(tree)
        problem.count_output(symbols, words)
    assert problem.repairs == Repairs(sentences=20)
