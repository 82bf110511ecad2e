"""kt-info, run as a user runs it, in this process."""

from __future__ import annotations

import json

import pytest

from keras_transformer import registry
from keras_transformer.cli import info


def _json(capsys: pytest.CaptureFixture[str], *flags: str) -> dict:
    assert info.main([*flags, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_lists_problems_and_sets(capsys):
    assert info.main([]) == 0
    out = capsys.readouterr().out
    for name in ("base", "transformer_big_single_gpu", "table3_C5", "wmt14_ende"):
        assert f"  {name} " in out


def test_describes_a_row_of_table_3(capsys):
    found = _json(capsys, "--hparams=table3_C5", "--vocab_size=37000")
    assert found["parameters"]["total"] == 163_848_192
    assert found["hparams"]["hidden_size"]["value"] == 1024
    assert found["hparams"]["hidden_size"]["source"] == "paper Table 3, C5"
    assert found["table3"]["printed"]["parameters_millions"] == 168
    # Worked out in the paper's own terms, without the target-space table.
    assert "40,599 to 41,574" in found["table3"]["difference"]
    assert "41,004 to 41,208 explains every row but big" in found["table3"]["difference"]
    assert found["training"]["steps"] == 100_000


def test_text_has_every_value_with_its_source_and_the_counts(capsys):
    assert info.main(["--hparams=table3_big", "--vocab_size=37000"]) == 0
    text = capsys.readouterr().out.split("\n")
    lines = {line.split()[0]: line.split() for line in text if line}
    assert lines["num_heads"] == ["num_heads", "16", "paper", "Table", "3,", "big"]
    assert lines["batch_size"][1] == "4096"
    assert lines["total"] != []
    assert "weights" in lines and "optimizer" in lines
    assert max(map(len, text)) <= 100


def test_an_overridden_row_is_no_longer_the_tables(capsys):
    found = _json(capsys, "--hparams=table3_base,num_heads=4", "--overrides=batch_size=1024")
    assert "table3" not in found
    assert found["hparams"]["num_heads"] == {
        "value": 4,
        "source": "override",
        "meaning": "attention heads (h)",
    }
    assert found["hparams"]["batch_size"]["value"] == 1024


def test_a_set_and_overrides_as_t2t_has_them(capsys):
    alone = _json(capsys, "--hparams_set=transformer_base")
    assert (alone["hparams_set"], alone["hparams"]["batch_size"]["value"]) == (
        "transformer_base",
        4096,
    )
    changed = _json(capsys, "--hparams_set=transformer_base", "--hparams=batch_size=1024")
    assert changed["hparams"]["batch_size"]["value"] == 1024
    assert changed["hparams"]["layer_preprocess_sequence"]["value"] == "n"


def test_two_vocabularies(capsys):
    found = _json(capsys, "--hparams=parsing", "--source_vocab_size=16000", "--vocab_size=128")
    assert found["vocab_size"] == {"inputs": 16000, "targets": 128}
    assert found["parameters"]["embedding"] == (16000 + 128) * 1024
    assert found["parameters"]["softmax"] == 128 * 1024


def test_plots_the_schedule(tmp_path):
    matplotlib_image = pytest.importorskip("matplotlib.image")
    path = tmp_path / "rate.png"
    assert info.main(["--hparams=base", f"--plot_schedule={path}"]) == 0
    pixels = matplotlib_image.imread(path)
    assert pixels.shape[:2] == (540, 960)
    assert pixels.std() > 0.05
    assert list(tmp_path.iterdir()) == [path]


USER_CODE = """
from keras_transformer.data.text_problem import Text2TextProblem, VocabType
from keras_transformer.registry import register_problem


@register_problem
class MeasuredLetters(Text2TextProblem):
    vocab_type = VocabType.CHARACTER
    dataset_splits = [{"split": "train", "shards": 1}, {"split": "dev", "shards": 1}]

    def generate_samples(self, data_dir, tmp_dir, dataset_split):
        # With the end of sentence: 100 pairs of 3 and 5, 50 of 9 and 9, two that are too long.
        for source, target, count in ((2, 4, 100), (8, 8, 50), (30, 2, 2)):
            for _ in range(count):
                yield {"inputs": "a" * source, "targets": "b" * target}
"""


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """Flags that name a data directory whose lengths are known."""
    folder = tmp_path_factory.mktemp("letters")
    code = folder / "measured_letters"
    code.mkdir()
    (code / "__init__.py").write_text(USER_CODE)
    registry.import_usr_dir(str(code))
    registry.problem("measured_letters").generate_data(str(folder / "data"), str(folder / "tmp"))
    return ["--problem=measured_letters", f"--data_dir={folder / 'data'}", "--hparams=tiny"]


BUCKETS = "--overrides=batch_size=120,max_length=20,min_length=3,min_length_bucket=8"


def test_how_a_data_directory_fills_its_buckets(letters, capsys):
    found = _json(capsys, *letters, BUCKETS)["buckets"]
    assert (found["examples_read"], found["read_all"]) == (152, True)
    assert (found["sentences"], found["too_long"], found["too_short"]) == (150, 2, 0)
    rows = [row for row in found["rows"] if row["sentences"]]
    assert [(row["below"], row["sentences"], row["tokens"]) for row in rows] == [
        (8, 100, 800),
        (10, 50, 900),
    ]
    assert found["positions"] == found["tokens"] == 1700
    assert found["padding_share"] == 0 and all(row["fill"] == 1 for row in rows)
    assert rows[0]["batches"] == -(-100 // rows[0]["batch_size"])
    found = _json(capsys, *letters, BUCKETS, "--max_examples=120")["buckets"]
    assert (found["examples_read"], found["read_all"]) == (120, False)


def test_the_table_of_buckets_fits_a_terminal(letters, capsys):
    # One bucket for all: 100 pairs of 3 and 5, then 50 of 9 and 9.
    assert info.main([*letters, BUCKETS.replace("bucket=8", "bucket=19")]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.split("\n"))) <= 100
    assert "all 152 examples" in text
    assert "dropped: 2 longer than 20, 0 shorter than 3" in text
    row = next(line.split() for line in text.split("\n") if line.split()[:3] == ["0", "to", "18"])
    batch_size, sentences, batches, fill, padding = (
        float(cell.strip("%").replace(",", "")) for cell in row[3:]
    )
    assert sentences == 150 and batches == -(-150 // batch_size)
    assert fill + padding == pytest.approx(100, abs=0.11) and padding > 0


def test_plots_the_lengths(letters, tmp_path, capsys):
    matplotlib_image = pytest.importorskip("matplotlib.image")
    path = tmp_path / "lengths.png"
    assert info.main([*letters, BUCKETS, f"--plot_lengths={path}"]) == 0
    pixels = matplotlib_image.imread(path)
    assert pixels.shape[:2] == (840, 960)
    for colour in ("#4c8dd6", "#f28e2b"):  # source, target
        wanted = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        assert (abs(pixels[..., :3] - wanted).max(axis=-1) < 0.01).sum() > 100
    assert list(tmp_path.iterdir()) == [path]
    # A split whose examples are all dropped is drawn too.
    assert info.main([*letters, "--overrides=max_length=2", f"--plot_lengths={path}"]) == 0


PRINTED_COUNTS = {
    **dict.fromkeys(["base", "A1", "A2", "A3", "A4"], 63_062_016),
    **{"B1": 55_984_128, "B2": 58_343_424, "C1": 33_660_928, "C2": 48_361_472},
    **{"C3": 77_762_560, "C4": 26_824_704, "C5": 163_848_192, "C6": 50_466_816},
    **{"C7": 88_252_416, "E": 63_324_160, "big": 214_204_416},
    **dict.fromkeys(["D1", "D2", "D3", "D4"], 63_062_016),
}


@pytest.mark.parametrize("row", PRINTED_COUNTS)
def test_every_row_of_table_3(row, capsys):
    found = _json(capsys, f"--hparams=table3_{row}", "--vocab_size=37000")
    parts = dict(found["parameters"])
    assert parts.pop("total") == PRINTED_COUNTS[row] == sum(parts.values())
    assert {"embedding", "attention", "feed_forward", "layer_norm"} <= parts.keys()
    assert all(entry["source"] for entry in found["hparams"].values())
    assert found["training"]["flops"] == found["training"]["flops_per_step"] * (
        300_000 if row == "big" else 100_000
    )
    memory = found["memory_bytes"]
    assert memory["weights"] == 4 * PRINTED_COUNTS[row]
    assert memory["optimizer"] == 2 * memory["weights"]  # Adam's two moments
    assert memory["activations"] > 0
    printed = found["table3"]["printed"]["parameters_millions"]
    assert f"the printed {printed}" in found["table3"]["difference"] or printed is None


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--hparams=bas"], "'bas' is not known; did you mean 'base'?"),
        (["--hparams=transformer_tpu"], "is not offered"),
        (["--hparams=base,hiden_size=3"], "did you mean hidden_size?"),
        (["--hparams=batch_size=3"], "names no set"),
        (["--hparams_set=base", "--hparams=big"], "both name a set"),
        (["--hparams=base", "--vocab_size=0"], "vocab_size"),
        (["--data_dir=x"], "--data_dir is given without --problem"),
        (["--plot_lengths=x.png"], "--plot_lengths is given without --data_dir"),
        (["--plot_schedule=x.png"], "--plot_schedule is given without --hparams"),
        (["--hparams=base", "--plot_schedule=x.nosuch"], "--plot_schedule=x.nosuch"),
        (["--problem=wmt14_end"], "did you mean"),
        (["stray"], "'stray' stands alone"),
    ],
)
def test_a_mistake_is_one_message_and_status_2(flags, message, capsys):
    assert info.main(flags) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
