"""The checkpoint with the highest BLEU, kept apart from the last ones in `<run directory>/best`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from keras_transformer.training import checkpoints
from keras_transformer.training.averaging import copy_run_files

BEST_FOLDER = "best"


def keep_apart(checkpoint: str | os.PathLike[str]) -> None:
    """Copies a checkpoint to the folder of the best one, which it takes the place of.

    The folder can be decoded from like a run. A kill at any moment leaves the one before or the new
    one whole there.

    Args:
        checkpoint: prefix of a checkpoint in its run directory.
    """
    checkpoint = Path(checkpoint)
    run_dir, folder = checkpoint.parent, checkpoint.parent / BEST_FOLDER
    folder.mkdir(exist_ok=True)
    for leftover in folder.glob(".model.ckpt-*.tmp"):
        leftover.unlink()
    copy_run_files(run_dir, folder)
    files = run_dir.glob(f"{checkpoint.name}.*")
    # The index last: a copy without one is never taken for whole.
    for path in sorted(files, key=lambda path: path.suffix == ".index"):
        temporary = folder / f".{path.name}.tmp"
        shutil.copyfile(path, temporary)
        checkpoints.flush_to_disk(temporary)
        os.replace(temporary, folder / path.name)
    checkpoints.write_list_file(folder, [checkpoint.name])
    for step in checkpoints.all_steps(folder):
        if step != checkpoints.step_of(checkpoint):
            checkpoints.remove(checkpoints.path_of(folder, step))


def catch_up(run_dir: str | os.PathLike[str], step: int) -> None:
    """Keeps the best checkpoint apart if a kill came between its evaluation and the copy.

    Args:
        step: of the best evaluation so far.
    """
    folder = os.path.join(run_dir, BEST_FOLDER)
    if step not in checkpoints.all_steps(folder) and step in checkpoints.all_steps(run_dir):
        keep_apart(checkpoints.path_of(run_dir, step))
