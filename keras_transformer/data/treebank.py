"""Where the trees of a treebank lie, and how they are read for training.

Three layouts are found in a folder, in this order:

1. the Penn Treebank as the LDC ships it: sections `02` … `23` of `wsj_0201.mrg` and so on, in the
   folder itself or under `wsj`, `mrg/wsj`, `parsed/mrg/wsj`, `treebank_3/parsed/mrg/wsj`, in
   small or capital letters, gzipped or not;
2. T2T's files `wsjTrain.trees`, `wsjEval.trees` (and `wsjTest.trees`, which T2T has no use for);
3. `train.trees`, `dev.trees`, `test.trees`.

A path that is no folder is a prefix, as T2T's `--parsing_path`: `<path>_train.trees` and so on.
Files of trees may also be named one by one. All may be gzipped.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from keras_transformer.errors import UserError
from keras_transformer.text.trees import Tree
from keras_transformer.text.trees_cleaning import TreeCleaning, clean_tree
from keras_transformer.text.trees_reading import TreeError, read_trees

logger = logging.getLogger(__name__)

SPLITS = ("train", "dev", "test")
# The field's division of the Wall Street Journal (Collins 1999), by section.
STANDARD_SECTIONS = {"train": "02-21", "dev": "22", "test": "23"}

LICENCE_NOTE = (
    "The Penn Treebank is licensed by the Linguistic Data Consortium (Treebank-3, LDC99T42,"
    " https://catalog.ldc.upenn.edu/LDC99T42) and cannot be downloaded here. Put its folder"
    " parsed/mrg/wsj (wsj/02/wsj_0201.mrg to wsj/23/wsj_2399.mrg) there, or trees of your own,"
    " one a line, as train.trees, dev.trees and test.trees (.gz allowed), or name the files with"
    " train_trees, dev_trees and test_trees"
)

_TREE_FILE_NAMES = {
    "train": ("wsjTrain.trees", "train.trees"),
    "dev": ("wsjEval.trees", "dev.trees"),
    "test": ("wsjTest.trees", "test.trees"),
}
_LDC_FOLDERS = ("", "wsj", "mrg/wsj", "parsed/mrg/wsj", "treebank_3/parsed/mrg/wsj")
_TREE_SUFFIX = re.compile(r"\.(mrg|trees?|psd|ptb|parse|prd)(\.gz)?$", re.IGNORECASE)
_WARNINGS_SHOWN = 10


def parse_sections(text: str) -> list[str]:
    """`02-04,22` → `["02", "03", "04", "22"]`.

    Raises:
        UserError: not numbers of sections, 00 to 24.
    """
    sections: list[str] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,2})\s*(?:-\s*(\d{1,2})\s*)?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not 0 <= first <= last <= 24:
            raise UserError(
                f"sections {text!r}: they are numbers from 00 to 24, such as 02-21 or 22,24"
            )
        sections += [f"{number:02d}" for number in range(first, last + 1)]
    return sections


def find_files(base: str, split: str, sections: str = "") -> list[Path]:
    """The tree files of a split in `base` (a folder, or T2T's prefix); none if there are none.

    Raises:
        UserError: `base` holds an LDC treebank without one of the sections asked for.
    """
    folder = Path(base)
    if not folder.is_dir():
        return _existing(f"{base}_{split}.trees")
    ldc = _ldc_folder(folder)
    if ldc is not None:
        wanted = parse_sections(sections or STANDARD_SECTIONS[split])
        files = [(section, _section_files(ldc, section)) for section in wanted]
        missing = [section for section, found in files if not found]
        if missing:
            raise UserError(
                f"{ldc}: the treebank has no trees of section {', '.join(missing)}, which"
                f" {split} needs: complete it, or ask for other sections"
            )
        return [path for _, found in files for path in found]
    for name in _TREE_FILE_NAMES[split]:
        found = _existing(str(folder / name))
        if found:
            return found
    return []


def named_files(names: str) -> list[Path]:
    """Files named one by one, with commas between; a folder stands for the tree files below it.

    Raises:
        UserError: one of them is not there, or a folder holds no trees.
    """
    files: list[Path] = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        path = Path(name)
        if path.is_dir():
            below = sorted(p for p in path.rglob("*") if _TREE_SUFFIX.search(p.name))
            if not below:
                raise UserError(f"{name}: the folder holds no tree files (.mrg, .trees, …)")
            files += below
        elif path.is_file():
            files.append(path)
        else:
            raise UserError(f"{name}: there is no such file of trees")
    return files


def _existing(name: str) -> list[Path]:
    return [path for path in (Path(name), Path(name + ".gz")) if path.is_file()][:1]


def _child(folder: Path, name: str) -> Path | None:
    """The subfolder of that name, in small or capital letters."""
    for candidate in (name, name.upper()):
        if (folder / candidate).is_dir():
            return folder / candidate
    return None


def _ldc_folder(base: Path) -> Path | None:
    for names in _LDC_FOLDERS:
        folder: Path | None = base
        for name in filter(None, names.split("/")):
            folder = folder and _child(folder, name)
        if folder and any(_section_files(folder, f"{number:02d}") for number in range(25)):
            return folder
    return None


def _section_files(folder: Path, section: str) -> list[Path]:
    place = folder / section
    if not place.is_dir():
        return []
    return sorted(path for path in place.iterdir() if _TREE_SUFFIX.search(path.name))


@dataclass
class ReadingReport:
    """What became of the trees that were read.

    Attributes:
        kept: trees given on, each counted once whatever its weight.
        broken: trees that could not be read (training only; elsewhere they end the program).
        empty: trees without a word once traces were off.
        too_long: training trees of more words than the limit.
        longest: words of the longest tree kept.
    """

    kept: int = 0
    broken: int = 0
    empty: int = 0
    too_long: int = 0
    longest: int = 0


def read_clean_trees(
    files: Sequence[Path],
    cleaning: TreeCleaning,
    report: ReadingReport,
    skip_broken: bool,
    max_words: int = 0,
) -> Iterator[Tree]:
    """Trees of several files, cleaned, one after another.

    Args:
        files: what to read.
        cleaning: what to take off.
        report: counts; added to.
        skip_broken: warn of trees that cannot be read and go on; else they are an error, so that
            no sentence of an evaluation set goes missing.
        max_words: leave longer trees out, 0 for no limit.

    Raises:
        UserError: a file cannot be read; or, unless `skip_broken`, a tree cannot.
    """

    def warn(error: TreeError) -> None:
        if not skip_broken:
            raise error
        report.broken += 1
        if report.broken <= _WARNINGS_SHOWN:
            logger.warning("left out: %s", error)

    for path in files:
        for _, raw in read_trees(path, warn):
            tree = clean_tree(raw, cleaning)
            if tree is None:
                report.empty += 1
                continue
            length = sum(1 for _ in tree.leaves())
            if max_words and length > max_words:
                report.too_long += 1
                continue
            report.kept += 1
            report.longest = max(report.longest, length)
            yield tree


def weighted(trees: Iterator[Tree], weight: float) -> Iterator[Tree]:
    """Each tree `weight` times: 3 is thrice, 0.25 is every fourth tree, 1.5 twice and once in turn.

    Nothing is drawn by chance, so the same trees come out every time.
    """
    given = 0
    for number, tree in enumerate(trees, start=1):
        due = int(number * weight + 1e-9)
        for _ in range(due - given):
            yield tree
        given = due


def parse_weighted_files(text: str) -> list[tuple[str, float]]:
    """`berkeley.trees.gz=0.5,other.trees` → [("berkeley.trees.gz", 0.5), ("other.trees", 1.0)].

    Raises:
        UserError: a weight is not a positive number.
    """
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, sign, number = part.rpartition("=")
        if not sign:
            found.append((part, 1.0))
            continue
        try:
            weight = float(number)
        except ValueError:
            weight = 0.0
        if not 0 < weight < 1e6:
            raise UserError(
                f"{part!r}: the weight {number!r} must be a positive number, how often each tree"
                " of the file is used"
            )
        found.append((name, weight))
    return found
