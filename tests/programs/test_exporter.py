"""`kt-exporter` as a user calls it, and its model where nothing of this project is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.cli.decoder import main as decoder
from keras_transformer.cli.exporter import main
from keras_transformer.text.trees_reading import parse_tree
from tests.programs.exported import MODEL_FLAGS, RUN, SEARCH_FLAGS, exported_model, sentences

# What a bare environment must not have; TensorFlow needs none of it.
ABSENT = ("keras_transformer", "tensorflow_text", "tensorflow_datasets", "sacrebleu", "ctranslate2")

ASK_EVERYTHING = """
import json, sys
import numpy as np
for name in json.loads(sys.argv[3]):
    try:
        __import__(name)
    except ImportError:
        continue
    raise SystemExit(f"{name} is there")
import tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1])
lines = json.load(open(sys.argv[2], encoding="utf-8"))
answers = {}
for name in ("serving_default", "beams"):
    found = loaded.signatures[name](inputs=tf.constant(lines))
    answers[name] = np.char.decode(found["outputs"].numpy().astype(bytes), "utf-8").tolist()
ids = [[5, 6, 7, 1], [8, 1, 0, 0]]
answers["tokens"] = loaded.signatures["tokens"](inputs=tf.constant(ids))["outputs"].numpy().tolist()
feature = lambda row: tf.train.Feature(int64_list=tf.train.Int64List(value=[i for i in row if i]))
examples = [tf.train.Example(features=tf.train.Features(feature={"inputs": feature(row)}))
            for row in ids]
found = loaded.signatures["examples"](input=tf.constant([e.SerializeToString() for e in examples]))
answers["examples"] = found["outputs"].numpy().tolist()
json.dump(answers, sys.stdout)
"""


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory) -> Path:
    """An interpreter with TensorFlow and its requirements and without this project.

    A virtual environment that sees the installed packages one by one, all but those of `ABSENT`,
    so that nothing has to be downloaded.
    """
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder / "env", with_pip=False)
    packages = folder / "packages"
    packages.mkdir()
    import tensorflow

    for entry in Path(tensorflow.__file__).parents[1].iterdir():
        if not entry.name.startswith((*ABSENT, "__editable__")) and entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "env" / "lib" / version / "site-packages"
    (site / "packages.pth").write_text(f"{packages}\n")
    return folder / "env" / "bin" / "python"


def run_bare(python: Path, *arguments: str, **options) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "KERAS"))}
    done = subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, env=environment, **options
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_the_model_answers_without_this_project_and_as_kt_decoder_does(bare_python, tmp_path):
    lines = [*sentences(500), *sentences(500, split="dev"), "", "  \u3000 "]
    lines.append("naïve 日本 \u2028 <pad> \\u0;")
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
    flags = [*MODEL_FLAGS, *SEARCH_FLAGS, f"--decode_from_file={source}"]
    assert decoder([*flags, f"--decode_to_file={target}"]) == 0
    wanted = target.read_text("utf-8").split("\n")[:-1]

    (tmp_path / "lines.json").write_text(json.dumps(lines), "utf-8")
    (tmp_path / "ask.py").write_text(ASK_EVERYTHING, "utf-8")
    output = run_bare(
        bare_python,
        *("-I", str(tmp_path / "ask.py"), str(exported_model())),
        *(str(tmp_path / "lines.json"), json.dumps(ABSENT)),
        cwd=tmp_path,
    )
    answers = json.loads(output[output.index("{") :])
    assert answers["serving_default"] == wanted
    assert [beams[0] for beams in answers["beams"]] == wanted
    assert {len(beams) for beams in answers["beams"]} == {4}
    assert answers["tokens"] == answers["examples"] and len(answers["tokens"]) == 2


@pytest.mark.slow
def test_a_parser_answers_with_trees_where_nothing_of_this_project_is(bare_python, tmp_path):
    run = RUN.parent / "parsing_base"
    lines = ["The house ( old ) .", "", "It says no .", "a \u2028 b"]
    source, target, folder = (tmp_path / name for name in ("source", "target", "model"))
    source.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
    flags = [f"--output_dir={run}", "--problem=wsj_parsing", "--target_space_id=16"]
    flags += [f"--source_vocab_file={run / 'vocab.inputs.subwords'}"]
    flags += [f"--target_vocab_file={run / 'vocab.targets.subwords'}"]
    flags += ["--beam_size=4", "--extra_length=10"]
    files = [f"--decode_from_file={source}", f"--decode_to_file={target}"]
    assert decoder([*flags, *files]) == 0
    assert main([*flags, f"--export_dir={folder}"]) == 0
    (tmp_path / "lines.json").write_text(json.dumps(lines), "utf-8")
    (tmp_path / "ask.py").write_text(ASK_EVERYTHING, "utf-8")
    output = run_bare(
        bare_python,
        *("-I", str(tmp_path / "ask.py"), str(folder)),
        *(str(tmp_path / "lines.json"), json.dumps(ABSENT)),
        cwd=tmp_path,
    )
    trees = json.loads(output[output.index("{") :])["serving_default"]
    assert trees == target.read_text("utf-8").split("\n")[:-1]
    assert [parse_tree(tree).words() for tree in trees if tree] == [
        line.split(" ") for line in lines if line
    ]


@pytest.mark.slow
def test_ids_and_examples_under_saved_model_cli(bare_python, tmp_path):
    np.save(tmp_path / "ids.npy", np.array([[5, 6, 7, 1], [8, 1, 0, 0]], np.int32))
    cli = ["-I", "-m", "tensorflow.python.tools.saved_model_cli"]
    model = ["--dir", str(exported_model()), "--tag_set", "serve"]
    common = ["run", *model, "--outdir", str(tmp_path), "--overwrite"]
    ids = ["--signature_def", "tokens", "--inputs", f"inputs={tmp_path / 'ids.npy'}"]
    run_bare(bare_python, *cli, *common, *ids)
    from_ids = np.load(tmp_path / "outputs.npy")
    assert from_ids.shape[0] == 2 and np.load(tmp_path / "scores.npy").shape == (2,)
    examples = 'input=[{"inputs": [5, 6, 7, 1]}, {"inputs": [8, 1]}]'
    run_bare(
        bare_python, *cli, *common, "--signature_def", "examples", "--input_examples", examples
    )
    np.testing.assert_array_equal(np.load(tmp_path / "outputs.npy"), from_ids)
    shown = run_bare(bare_python, *cli, "show", *model, "--signature_def", "serving_default")
    assert "inputs['inputs'] tensor_info" in shown and "dtype: DT_STRING" in shown


@pytest.mark.slow
def test_smaller_weights_print_what_they_cost(tmp_path, capsys):
    source, reference = tmp_path / "source", tmp_path / "reference"
    source.write_text("".join(f"{line}\n" for line in sentences(20)), "utf-8")
    reference.write_text("".join(f"{line}\n" for line in sentences(20, "de")), "utf-8")
    folder = tmp_path / "int8"
    files = [f"--source={source}", f"--reference={reference}"]
    flags = [*MODEL_FLAGS, *SEARCH_FLAGS, f"--export_dir={folder}", "--weights=int8", *files]
    assert main(flags) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(folder)
    assert lines[1].split() == ["weights", "int8", "0.1", "MB,", "float32", "0.2", "MB"]
    assert lines[3].startswith("BLEU      SavedModel int8 ") and "20 sentences" in lines[3]
    assert ", kt-decoder " in lines[3]
    assert lines[4].startswith("the same  ") and lines[4].endswith(" of 20 outputs")
    about = json.loads((folder / "assets.extra" / "export.json").read_text("utf-8"))
    assert about["weights"] == "int8" and about["decoding"]["extra_length"] == 20
    assert (folder / "assets" / "vocab.shared.subwords").is_file()


@pytest.mark.slow
def test_ctranslate2_as_json_beside_kt_decoder(tmp_path, capsys):
    source, reference = tmp_path / "source", tmp_path / "reference"
    lines = [*sentences(19), "  "]
    source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    reference.write_text("".join(f"{line}\n" for line in sentences(20, "de")), "utf-8")
    folder = tmp_path / "model"
    files = [f"--source={source}", f"--reference={reference}", f"--export_dir={folder}"]
    search = [*SEARCH_FLAGS, "--alpha=0", "--ending_rule=ctranslate2"]
    assert main([*MODEL_FLAGS, *search, *files, "--format=ctranslate2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["export_dir"], report["format"]) == (str(folder), "ctranslate2")
    assert report["folder_bytes"] == sum(file.stat().st_size for file in folder.iterdir())
    bleu = report["bleu"]
    assert bleu["same_outputs"] == bleu["sentences"] == 20
    assert bleu["exported"] == bleu["kt_decoder"] and bleu["change"] == 0
    about = json.loads((folder / "export.json").read_text("utf-8"))
    assert about["translate_batch"] == {
        "beam_size": 4,
        "length_penalty": 0.0,
        "min_decoding_length": 0,
        "max_input_length": 2048,
    }
    assert about["decoding"]["ending_rule"] == "ctranslate2"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--output_dir is not given"),
        (["--output_dir=/nowhere"], "there is no such run directory"),
        ([f"--output_dir={RUN}", "--source=a"], "--source and --reference belong together"),
        ([f"--output_dir={RUN}", "--n_best=2"], "--n_best says nothing here"),
        ([f"--output_dir={RUN}", f"--export_dir={RUN}"], "is there already"),
        ([f"--output_dir={RUN}", "--export_as_tfhub=true"], "hub.load"),
        ([f"--output_dir={RUN}", "--weights=int4"], "int8"),
    ],
)
def test_mistakes_end_with_one_line(flags, message, capsys):
    assert main(flags) == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error
