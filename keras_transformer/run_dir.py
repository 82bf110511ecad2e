"""What a run directory holds and how it is read back.

    hparams.json      every hyperparameter under T2T's name, sorted; T2T's own tools can read it
    run.json      the problem's name and options, what is mixed in, the set's name, where the data
                      was, and for each vocabulary its file, size and sha256
    <vocabulary>      a copy of each vocabulary file, so that the directory can be moved
    checkpoint, model.ckpt-*, train_log.jsonl, events.*, flags.txt    written by the loop

A vocabulary is looked for in this order: the argument or flag; the run directory; the `data_dir`
that the run's own files name, if it exists here; the `data_dir` argument. The error lists every
place tried.

A T2T run directory (hparams.json without run.json, TF1 checkpoints) is recognised and opened
through `t2t_compat`; the result answers to the same names.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer import registry
from keras_transformer.config import HParams
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.data.problem import Problem

HPARAMS_FILE = "hparams.json"
RUN_FILE = "run.json"
# There while a run directory of T2T is being made one of ours (`t2t_compat.adoption`).
ADOPTION_PLAN = ".adoption/plan.json"
FORMAT = 1
SIDES = ("inputs", "targets")


def sha256_of_file(path: Path) -> str:
    """Hex digest of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_text_atomically(path: Path, text: str) -> None:
    """Writes UTF-8 text under a temporary name, then renames it: a reader sees all or nothing."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


@dataclass
class RunDir:
    """An opened run directory.

    Attributes:
        path: the directory.
        hparams: the settings the model was made with.
        problem: the problem, rebuilt from its name and options.
        hparams_set: name of the set the run was started from, if known.
        data_dir: the data directory the run was started with; may not exist on this machine.
        vocabularies: side → {"file", "size", "sha256"} as recorded; empty without files.
        target_space_id: row of the target-space table the model was trained with.
        is_t2t: the directory was written by Tensor2Tensor.
        mixture: what is trained on besides the problem (`data.mixing.from_records`).
    """

    path: Path
    hparams: HParams
    problem: Problem
    hparams_set: str | None = None
    data_dir: Path | None = None
    vocabularies: dict[str, dict[str, Any]] = field(default_factory=dict)
    target_space_id: int = 0
    is_t2t: bool = False
    mixture: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def exists(cls, path: str | os.PathLike[str]) -> bool:
        """True if the directory was begun by `create` (or by T2T, whose old releases wrote no
        hparams.json). A `create` that was killed leaves hparams.json alone, without T2T's flags."""
        folder = Path(path)
        if (folder / RUN_FILE).is_file() or (folder / ADOPTION_PLAN).is_file():
            return True
        by_t2t = (folder / HPARAMS_FILE).is_file() and any(folder.glob("flags*.txt"))
        return by_t2t or any(folder.glob("model.ckpt-*.index"))

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        usr_dir: str | None = None,
        **t2t_options: Any,
    ) -> RunDir:
        """Reads a run directory.

        Args:
            path: the directory.
            usr_dir: the user's package, where its recorded place no longer exists.
            **t2t_options: passed on where the directory is T2T's (problem, hparams_set, …).

        Raises:
            UserError: there is none, or a file of it is missing or damaged.
        """
        folder = Path(path)
        if not folder.is_dir():
            raise UserError(f"{path}: there is no such run directory")
        if not (folder / RUN_FILE).is_file():
            return registry.t2t_compat().open_run_dir(folder, usr_dir=usr_dir, **t2t_options)
        record = _read_json(folder / RUN_FILE)
        try:
            _check_types(record)
            stored_usr_dir = record.get("usr_dir") or ""
            if usr_dir or (stored_usr_dir and Path(stored_usr_dir).is_dir()):
                registry.import_usr_dir(usr_dir or stored_usr_dir)
            problem = registry.problem(record["problem"], **record["options"])
            return cls(
                path=folder,
                hparams=read_hparams(folder),
                problem=problem,
                hparams_set=record.get("hparams_set"),
                data_dir=Path(record["data_dir"]) if record.get("data_dir") else None,
                vocabularies=record["vocabularies"],
                target_space_id=record["target_space_id"],
                mixture=record.get("mixture", []),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{folder / RUN_FILE} is not what kt-trainer writes ({error!r}); restore it from"
                " a copy, or begin again in an empty --output_dir"
            ) from None

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        hparams: HParams,
        problem: Problem,
        data_dir: str | os.PathLike[str],
        hparams_set: str | None = None,
        usr_dir: str | None = None,
        target_space_id: int | None = None,
        vocabulary_paths: Mapping[str, Path | None] | None = None,
        mixture: Sequence[Mapping[str, Any]] = (),
    ) -> RunDir:
        """Begins a run directory: settings, problem, and copies of the vocabularies of `data_dir`.

        `run.json` is written last; a directory without it was never begun.

        Args:
            vocabulary_paths: side → vocabulary file, where they lie elsewhere or bear other names.
            mixture: what is trained on besides the problem (`data.mixing.from_records`).
        """
        folder = Path(path)
        given_paths, names = vocabulary_paths or {}, problem.vocab_files()
        if names["inputs"] == names["targets"] and len({*given_paths.values()}) > 1:
            raise UserError(
                f"problem {problem.full_name} has one vocabulary for both sides, but two are given:"
                f" {given_paths['inputs']} and {given_paths['targets']}; give the one, or take"
                " --problem=text2text"
            )
        folder.mkdir(parents=True, exist_ok=True)
        vocabularies: dict[str, dict[str, Any]] = {}
        for side, name in names.items():
            if name is None:
                continue
            given = given_paths.get(side)
            source, copy = given or problem.find_vocab_file(data_dir, name), folder / name
            if not source.is_file():
                raise UserError(
                    f"{source}: the vocabulary of the {side} is missing; run kt-datagen"
                )
            _copy_atomically(source, copy)
            vocabularies[side] = {"file": name, "sha256": sha256_of_file(copy)}
        for name in problem.companion_files():
            if (Path(data_dir) / name).is_file():
                _copy_atomically(Path(data_dir) / name, folder / name)
        run = cls(
            path=folder,
            hparams=hparams,
            problem=problem,
            hparams_set=hparams_set,
            data_dir=Path(data_dir).absolute(),
            vocabularies=vocabularies,
            target_space_id=problem.target_space_id if target_space_id is None else target_space_id,
            mixture=[dict(each) for each in mixture],
        )
        for side, encoder in problem.encoders(str(folder)).items():
            if side in vocabularies:
                vocabularies[side]["size"] = encoder.vocab_size
        write_text_atomically(folder / HPARAMS_FILE, hparams.to_json(data_dir=str(run.data_dir)))
        record = {
            "format": FORMAT,
            "problem": problem.full_name,
            "options": problem.options,
            "hparams_set": hparams_set,
            "usr_dir": str(Path(usr_dir).absolute()) if usr_dir else None,
            "data_dir": str(run.data_dir),
            "vocabularies": vocabularies,
            "target_space_id": run.target_space_id,
            "mixture": run.mixture,
        }
        write_text_atomically(folder / RUN_FILE, json.dumps(record, indent=2) + "\n")
        return run

    def encoders(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        vocab_file: str | None = None,
        source_vocab_file: str | None = None,
        target_vocab_file: str | None = None,
    ) -> dict[str, Any]:
        """The text encoders, side → encoder.

        Raises:
            UserError: a vocabulary is nowhere (every place tried is listed), or is not the one
                the model was trained with (size or sha256 differ).
        """
        paths = self.vocabulary_paths(data_dir, vocab_file, source_vocab_file, target_vocab_file)
        encoders = self.problem.encoders_from_files(
            {side: str(path) if path else None for side, path in paths.items()}
        )
        for side, path in paths.items():
            if path is not None and side in self.vocabularies:
                self._check_vocabulary(side, path, encoders[side].vocab_size)
        return encoders

    def vocabulary_paths(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        vocab_file: str | None = None,
        source_vocab_file: str | None = None,
        target_vocab_file: str | None = None,
    ) -> dict[str, Path | None]:
        """Side → vocabulary file; None for an encoder that has none. See `encoders`.

        Raises:
            UserError: a vocabulary is nowhere; every place tried is listed.
        """
        given = {
            "inputs": source_vocab_file or vocab_file,
            "targets": target_vocab_file or vocab_file,
        }
        return {
            side: None if name is None else self._find(side, name, given.get(side), data_dir)
            for side, name in self.problem.vocab_files().items()
        }

    def _find(
        self, side: str, name: str, given: str | None, data_dir: str | os.PathLike[str] | None
    ) -> Path:
        if given:
            if not Path(given).is_file():
                raise UserError(f"{given}: there is no such vocabulary file")
            return Path(given)
        places = self._places(name, data_dir)
        for place in places:
            if place.is_file():
                return place
        raise UserError(
            f"the vocabulary of the {side} was not found; tried "
            + ", ".join(str(place) for place in places)
            + "; name it with --vocab_file (or --source_vocab_file and --target_vocab_file)"
        )

    def _places(self, name: str, data_dir: str | os.PathLike[str] | None) -> list[Path]:
        folders = [folder for folder in (self.path, self.data_dir, data_dir) if folder is not None]
        names = [name, *self.problem.older_vocab_files(name)]
        return [Path(folder) / each for folder in folders for each in names]

    def _check_vocabulary(self, side: str, path: Path, size: int) -> None:
        record = self.vocabularies[side]
        if record.get("size") not in (None, size):
            raise UserError(
                f"{path} has {size} entries, but the model's {side} vocabulary has"
                f" {record['size']}; give the file the model was trained with"
            )
        if record.get("sha256") not in (None, sha256_of_file(path)):
            raise UserError(
                f"{path} is not the {side} vocabulary the model was trained with (another sha256"
                f" than the one in {self.path / RUN_FILE}), so its ids would mean other words;"
                " give the original file"
            )


def _copy_atomically(source: Path, copy: Path) -> None:
    if source.resolve() != copy.resolve():
        temporary = copy.with_name(f".{copy.name}.tmp")
        shutil.copyfile(source, temporary)
        os.replace(temporary, copy)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}; restore it from a copy") from None
    if not isinstance(value, dict):
        raise UserError(f"{path} is not a JSON object; restore it from a copy")
    return value


def _check_types(record: Mapping[str, Any]) -> None:
    """Raises TypeError or KeyError where a value of run.json is not of the type `create` writes."""
    types = {"problem": str, "options": dict, "vocabularies": dict, "target_space_id": int}
    for name, kind in types.items():
        if not isinstance(record[name], kind):
            raise TypeError(f"{name} is {record[name]!r}")
    mixture = record.get("mixture", [])
    if not isinstance(mixture, list) or not all(isinstance(each, dict) for each in mixture):
        raise TypeError(f"mixture is {mixture!r}")
    for side, vocabulary in record["vocabularies"].items():
        if side not in SIDES or not isinstance(vocabulary, dict):
            raise TypeError(f"vocabularies holds {side!r}: {vocabulary!r}")


def read_hparams(folder: Path) -> HParams:
    """The settings stored in a run directory."""
    path = folder / HPARAMS_FILE
    if not path.is_file():
        raise UserError(
            f"{path} is missing; restore it from a copy, or begin in an empty directory"
        )
    try:
        return HParams.from_json(path.read_text(encoding="utf-8"))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}; restore it from a copy") from None
