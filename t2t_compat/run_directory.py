"""A T2T run directory, opened as it is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.run_dir import ADOPTION_PLAN, HPARAMS_FILE, RunDir
from keras_transformer.t2t_compat.hparams_json import read_hparams_file
from keras_transformer.t2t_compat.loader import CheckpointDescription, describe_checkpoint

if TYPE_CHECKING:
    from keras_transformer.data.problem import Problem


@dataclass
class T2TRunDir(RunDir):
    """A run directory written by Tensor2Tensor.

    Attributes:
        description: what the checkpoint told; its notes belong in a report.
        vocab_files: side → a vocabulary file given by the user.
        usr_dir: the user's package that was imported for it.
    """

    description: CheckpointDescription = field(kw_only=True)
    vocab_files: dict[str, str] = field(default_factory=dict)
    usr_dir: str | None = None

    def vocabulary_paths(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        vocab_file: str | None = None,
        source_vocab_file: str | None = None,
        target_vocab_file: str | None = None,
    ) -> dict[str, Path | None]:
        return super().vocabulary_paths(
            data_dir,
            vocab_file,
            source_vocab_file or (None if vocab_file else self.vocab_files.get("inputs")),
            target_vocab_file or (None if vocab_file else self.vocab_files.get("targets")),
        )


def read_flags(folder: Path) -> dict[str, str]:
    """Flags as T2T stored them: `flags.txt`, `flags_t2t.txt` (a line is `--name=value`)."""
    values: dict[str, str] = {}
    for file in sorted(folder.glob("flags*.txt")):
        text = file.read_text(encoding="utf-8", errors="replace")
        for match in re.finditer(r"^--(\w+)=(.*)$", text, re.MULTILINE):
            values[match[1]] = match[2].strip().strip("'\"")
    return values


def open_run_dir(
    folder: Path,
    usr_dir: str | None = None,
    problem: str | None = None,
    hparams_set: str | None = None,
    hparams_json: str | None = None,
    overrides: str = "",
    checkpoint_path: str | None = None,
    data_dir: str | None = None,
    vocab_file: str | None = None,
    source_vocab_file: str | None = None,
    target_vocab_file: str | None = None,
    target_space_id: int | None = None,
) -> T2TRunDir:
    """Opens a folder that T2T trained in.

    The problem is the argument's, or the one its flags name; without either, vocabulary files given
    by name are enough, or the one vocabulary that lies in the folder. Paths of another machine in
    its files are passed over.

    Raises:
        UserError: nothing T2T wrote is there, or what it does not tell is not given.
    """
    if (folder / ADOPTION_PLAN).is_file():
        raise UserError(
            f"{folder} is being made a run directory of kt-trainer's, or a kill has interrupted"
            " that: start kt-trainer in it, which finishes it"
        )
    flags = read_flags(folder)
    looks = (folder / HPARAMS_FILE).is_file() or list(folder.glob("*.ckpt-*.index"))
    saved_model = list(folder.glob("saved_model.pb*"))
    if not looks and not saved_model and checkpoint_path is None:
        raise UserError(
            f"{folder} is no run directory: it holds neither run.json (kt-trainer) nor hparams.json"
            " and model.ckpt-<step>.index (Tensor2Tensor)"
        )
    usr_dir = usr_dir or _here(flags.get("t2t_usr_dir"))
    if usr_dir:
        registry.import_usr_dir(usr_dir)
    given = {
        "inputs": source_vocab_file or vocab_file,
        "targets": target_vocab_file or vocab_file,
    }
    vocab_files = {side: path for side, path in given.items() if path}
    problem = problem or flags.get("problem") or flags.get("problems")
    if not problem and not vocab_files:
        vocab_files = _only_vocabulary(folder)
    chosen, known_space = _problem(folder, problem, vocab_files)
    path = Path(hparams_json) if hparams_json else folder / HPARAMS_FILE
    values = read_hparams_file(path) if path.is_file() or hparams_json else {}
    if not values and not hparams_set:
        hparams_set = flags.get("hparams_set")
        overrides = ",".join(part for part in (flags.get("hparams", ""), overrides) if part)
    description = describe_checkpoint(
        checkpoint_path or folder,
        hparams_set or (str(path) if values else None),
        target_space_id=target_space_id,
        overrides=overrides,
        known_target_space_id=known_space,
    )
    stored_data_dir = _here(values.get("data_dir")) or _here(flags.get("data_dir")) or data_dir
    return T2TRunDir(
        path=folder,
        hparams=description.hparams,
        problem=chosen,
        hparams_set=hparams_set or flags.get("hparams_set"),
        data_dir=Path(stored_data_dir) if stored_data_dir else None,
        target_space_id=description.target_space_id,
        is_t2t=True,
        description=description,
        vocab_files=vocab_files,
        usr_dir=usr_dir,
    )


def _here(path: str | None) -> str | None:
    return path if path and Path(path).expanduser().is_dir() else None


def _only_vocabulary(folder: Path) -> dict[str, str]:
    """The vocabulary file in the folder, for both sides; nothing if there are none or several."""
    patterns = ("vocab.*", "tokens.vocab.*")
    found = [str(path) for pattern in patterns for path in folder.glob(pattern) if path.is_file()]
    return {"inputs": found[0], "targets": found[0]} if len(found) == 1 else {}


def _problem(
    folder: Path, name: str | None, vocab_files: dict[str, str]
) -> tuple[Problem, int | None]:
    if name:
        try:
            problem = registry.problem(name)
            return problem, problem.target_space_id
        except UserError:
            if not vocab_files:
                raise
    if not vocab_files:
        raise UserError(
            f"{folder} does not say which problem it was trained on (T2T keeps that in flags.txt):"
            " name it with --problem=..., or give its vocabulary with --vocab_file=..."
        )
    if set(vocab_files) != {"inputs", "targets"}:
        raise UserError("give both --source_vocab_file and --target_vocab_file, or --vocab_file")
    return registry.problem("text2text", **vocabulary_options(vocab_files)), None


def vocabulary_options(vocab_files: dict[str, str]) -> dict[str, str]:
    """Options of `text2text` for a pair of vocabulary files."""
    if vocab_files["inputs"] == vocab_files["targets"]:
        return {"vocab_file": vocab_files["inputs"]}
    return {
        "source_vocab_file": vocab_files["inputs"],
        "target_vocab_file": vocab_files["targets"],
    }
