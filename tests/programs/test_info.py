"""kt-info, run as a user runs it, in this process."""

from __future__ import annotations

import json

import pytest

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
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.split("\n") if line}
    assert lines["num_heads"] == ["num_heads", "16", "paper", "Table", "3,", "big"]
    assert lines["batch_size"][1] == "4096"
    assert lines["total"] != []
    assert "weights" in lines and "optimizer" in lines


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
