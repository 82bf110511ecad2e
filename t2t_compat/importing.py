"""T2T run directory or checkpoint → a run directory of this project, with an account of everything.

    NEW/hparams.json, run.json, <vocabularies>   as `RunDir.create` writes them
    NEW/model.ckpt-<step>                         the weights, and Adam's moments if T2T kept them
    NEW/import_report.json                        every variable and every weight
    NEW/import_parity.npz                         sentences with logits and beams, for `--verify`

`adoption` does the same in place, for a copy of a T2T run directory that training is to go on in.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.run_dir import HPARAMS_FILE, RUN_FILE, RunDir, write_text_atomically
from keras_transformer.t2t_compat import parity
from keras_transformer.t2t_compat.loader import LoadedCheckpoint, load_described
from keras_transformer.t2t_compat.moments import read_moments
from keras_transformer.t2t_compat.report import ImportReport
from keras_transformer.t2t_compat.run_directory import T2TRunDir
from keras_transformer.training import checkpoints

REPORT_FILE = "import_report.json"


def import_run(
    run: T2TRunDir,
    output_dir: str | os.PathLike[str],
    data_dir: str | os.PathLike[str] | None = None,
    usr_dir: str | None = None,
    with_parity: bool = True,
) -> ImportReport:
    """Writes the run directory.

    Args:
        run: opened by `open_run_dir`.
        output_dir: an empty or new folder.
        data_dir: where the vocabularies may lie; remembered for training.
        usr_dir: the user's package that the problem comes from; remembered.
        with_parity: also decode some sentences and keep the result for `parity.verify`.

    Raises:
        UserError: the folder holds a run already, a vocabulary is not to be found or is not the
            checkpoint's, or checkpoint and settings do not fit.
    """
    folder = Path(output_dir)
    if (folder / RUN_FILE).is_file() or (folder / HPARAMS_FILE).is_file():
        raise UserError(f"{folder} holds a run already; give a new or empty --output_dir")
    content = read_run(run, data_dir)
    write_run(run, content, folder, data_dir or run.data_dir or folder, usr_dir)
    if with_parity:
        parity.record(folder, content.loaded.model, RunDir.open(folder))
    return content.loaded.report


@dataclass
class RunContent:
    """All that is read of a T2T checkpoint, so that its files may be moved afterwards."""

    loaded: LoadedCheckpoint
    moments: dict[str, np.ndarray] | None
    step: int


def read_run(run: T2TRunDir, data_dir: str | os.PathLike[str] | None) -> RunContent:
    """Weights and moments of a run, from vocabularies that may lie in `data_dir`.

    Raises:
        UserError: a vocabulary is not to be found or is not the checkpoint's, or checkpoint and
            settings do not fit.
    """
    encoders = run.encoders(data_dir)
    sizes = {side: encoder.vocab_size for side, encoder in encoders.items()}
    loaded = load_described(run.description, sizes)
    moments = read_moments(
        loaded.reader, loaded.sources, loaded.report.weights, loaded.hparams.optimizer
    )
    return RunContent(loaded, moments, loaded.reader.step)


def write_run(
    run: T2TRunDir,
    content: RunContent,
    folder: Path,
    data_dir: str | os.PathLike[str],
    usr_dir: str | None,
) -> None:
    """Writes what was read into a new run directory, `run.json` last.

    Args:
        data_dir: remembered for training.
    """
    loaded, moments, report = content.loaded, content.moments, content.loaded.report
    state: dict[str, Any] = {"imported_from": os.path.basename(report.checkpoint)}
    tensors: dict[str, Any] = dict(loaded.model.named_weights())
    if moments is None:
        state["inference_only"] = True
        report.notes.append(
            f"no state of the optimizer {loaded.hparams.optimizer} in the checkpoint: it serves"
            " decoding, and training with --init_from"
        )
    else:
        tensors |= moments
        for name in report.left:
            if name.startswith("training/"):
                report.left[name] = "optimizer state; taken over beside the weights"
    paths = run.vocabulary_paths(data_dir)
    # run.json comes last: before it is there, nobody takes the folder for a run.
    checkpoints.save(folder, content.step, tensors, state)
    write_text_atomically(
        folder / REPORT_FILE, json.dumps(report.to_dict(), indent=1, ensure_ascii=False) + "\n"
    )
    RunDir.create(
        folder,
        loaded.hparams,
        run.problem,
        data_dir,
        hparams_set=run.hparams_set,
        usr_dir=usr_dir or run.usr_dir,
        target_space_id=loaded.target_space_id,
        vocabulary_paths=paths,
    )
