"""What is said of a run that is the paper's, and of one that is not."""

from __future__ import annotations

from keras_transformer.reproduce.recipes import Request


def test_of_the_papers_own_run_data_text_and_cards_remain(made_up_result):
    request = Request(table=2, rows=("base_ende",), data_dir="d")
    found = made_up_result(request)["deviations"]
    assert [sentence.split(":")[0].split(" ")[0] for sentence in found] == ["data", "trained"]
    assert "vocabulary 37,000; the paper" in found[0]


def test_the_papers_development_set_is_no_departure_but_a_part_of_it_is(made_up_result):
    whole = made_up_result(Request(table=3, rows=("base",), data_dir="d"))["deviations"]
    assert not any(sentence.startswith("decoded") for sentence in whole)
    part = Request(table=3, rows=("base",), data_dir="d", test_set="wmt13", max_lines=100)
    assert any("sentences of wmt13" in s for s in made_up_result(part)["deviations"])


def test_each_departure_has_its_sentence(made_up_result):
    request = Request(
        **{"table": 3, "rows": ("C1",), "data_dir": "d", "base_hparams": "tiny"},
        **{"problem": "sample_ende", "steps": 500, "max_lines": 9, "averaged": 2},
        **{"save_steps": 100, "beam_size": 1, "precision": "bfloat16"},
    )
    found = made_up_result(
        request,
        precision="bfloat16",
        replicas=1,
        simulate_replicas=2,
        source_tokens_per_update=1500.0,
        vocab_sizes={"inputs": 4000, "targets": 3000},
    )["deviations"]
    text = "\n".join(found)
    for part in (
        "hidden_size 128 for 512",
        "2/6 of N=2 is 0.67: 1",
        "500 updates for the paper's 100,000",
        "an update sees 1,500 source and 25,000 target subtokens",
        "`sample_ende`, vocabulary 4,000 and 3,000",
        "sentences of the dev split; the paper: newstest2013",
        "activations in bfloat16",
        "2 checkpoints averaged for none",
        "decoded with beam_size 1 for 4",
        "1 device (P100), 2 batches of each in an update",
    ):
        assert part in text, part
    # What the row changes by design is no departure.
    assert "num_hidden_layers 1" not in text
