"""The text a row is scored on: sentences and references as two files in its run directory.

dev, test           a split of the problem; for trees, its sentences and gold trees
wmt14/full, wmt13   a test set of sacreBLEU, downloaded once if it is not on this machine
SOURCE,REFERENCE    two files, line n of one belonging to line n of the other
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keras_transformer.data.problem import Problem
from keras_transformer.errors import UserError
from keras_transformer.run_dir import sha256_of_file
from keras_transformer.text.lines import read_lines, write_lines

SPLITS = ("dev", "test")
FOLDER = "scored"


def paths(row_dir: Path) -> dict[str, Path]:
    """Files of a row: source, reference, translation."""
    names = ("source", "reference", "translation")
    return {name: row_dir / FOLDER / f"{name}.txt" for name in names}


def prepare(
    row_dir: Path, test_set: str, max_lines: int, problem: Problem, data_dir: str, tmp_dir: str
) -> tuple[int, dict[str, str]]:
    """Writes source and reference.

    Returns:
        The number of sentences, and name → sha256 of the two files.

    Raises:
        UserError: there is no such test set here, or its two sides do not fit.
    """
    source, reference = _sides(test_set, problem, data_dir, tmp_dir)
    if len(source) != len(reference):
        raise UserError(
            f"--test_set={test_set}: {len(source)} sentences, but {len(reference)} references: line"
            " n of one belongs to line n of the other"
        )
    source, reference = (side[: max_lines or None] for side in (source, reference))
    if not source:
        raise UserError(f"--test_set={test_set} holds no sentence")
    files = paths(row_dir)
    files["source"].parent.mkdir(parents=True, exist_ok=True)
    digests = {}
    for name, lines in (("source", source), ("reference", reference)):
        write_lines(files[name], lines)
        digests[name] = sha256_of_file(files[name])
    return len(source), digests


def require(test_set: str, problem: Problem) -> None:
    """Fetches a test set that is no split of the problem.

    Raises:
        UserError: it is not here and cannot be had.
    """
    _from_elsewhere(test_set, problem)


def _sides(
    test_set: str, problem: Problem, data_dir: str, tmp_dir: str
) -> tuple[list[str], list[str]]:
    if test_set in SPLITS:
        return _split(test_set, problem, data_dir, tmp_dir)
    return _from_elsewhere(test_set, problem)


def _from_elsewhere(test_set: str, problem: Problem) -> tuple[list[str], list[str]]:
    names = test_set.split(",")
    if len(names) == 2:
        return list(read_lines(names[0])), list(read_lines(names[1]))
    return _of_sacrebleu(test_set, problem)


def _split(split: str, problem: Any, data_dir: str, tmp_dir: str) -> tuple[list[str], list[str]]:
    if hasattr(problem, "gold_files"):
        words, trees = problem.gold_files(data_dir, split)
        if not (Path(words).is_file() and Path(trees).is_file()):
            raise UserError(
                f"{words} and {trees} are not there: the data of {problem.full_name} was made"
                f" without trees for {split}; give them to kt-datagen"
            )
        return list(read_lines(words)), list(read_lines(trees))
    source, reference = (
        [_one_line(text) for text in lines(split, data_dir, tmp_dir)]
        for lines in (problem.source_lines, problem.reference_lines)
    )
    return source, reference


def _one_line(text: str) -> str:
    return " ".join(text.split("\n")).replace("\r", "")


def _of_sacrebleu(test_set: str, problem: Any) -> tuple[list[str], list[str]]:
    import sacrebleu
    from sacrebleu.dataset import DATASETS

    if test_set not in DATASETS:
        raise UserError(
            f"--test_set={test_set} is neither dev nor test, nor two files with a comma between,"
            " nor a test set of sacreBLEU (sacrebleu --list shows them)"
        )
    languages = getattr(problem, "languages", ("", ""))
    pair = problem.oriented({"inputs": languages[0], "targets": languages[1]})
    name = f"{pair['inputs']}-{pair['targets']}"
    if not all(languages):
        raise UserError(
            f"--test_set={test_set}: problem {problem.full_name} does not say what languages it is"
            " of; give two files, --test_set=SOURCE,REFERENCE"
        )
    if name not in DATASETS[test_set].langpairs:
        raise UserError(f"--test_set={test_set} has no {name} in sacreBLEU")
    try:
        source = sacrebleu.get_source_file(test_set, name)
        reference = sacrebleu.get_reference_files(test_set, name)[0]
    except Exception as error:  # urllib's, ssl's or its own, by version and by what is missing
        raise UserError(
            f"--test_set={test_set}: sacreBLEU could not get it ({error}). On a machine with"
            f" network: sacrebleu -t {test_set} -l {name} --echo src > test.{pair['inputs']};"
            f" sacrebleu -t {test_set} -l {name} --echo ref > test.{pair['targets']}; then"
            f" --test_set=test.{pair['inputs']},test.{pair['targets']}"
        ) from None
    return list(read_lines(source)), list(read_lines(reference))
