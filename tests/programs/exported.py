"""One exported model that several tests ask."""

from __future__ import annotations

import atexit
import functools
import gzip
import shutil
import tempfile
from pathlib import Path

from keras_transformer.cli.exporter import main

ROOT = Path(__file__).parents[2]
RUN = ROOT / "tests" / "golden" / "models" / "base_v1"
MODEL_FLAGS = [
    f"--output_dir={RUN}",
    f"--vocab_file={RUN / 'vocab.shared.subwords'}",
    "--target_space_id=0",
]
SEARCH_FLAGS = ["--extra_length=20"]


@functools.cache
def exported_model() -> Path:
    """A SavedModel of a small model of Tensor2Tensor's, made once."""
    above = Path(tempfile.mkdtemp(prefix="exported-"))
    atexit.register(shutil.rmtree, above, ignore_errors=True)
    folder = above / "ende" / "1"
    assert main([*MODEL_FLAGS, *SEARCH_FLAGS, f"--export_dir={folder}"]) == 0
    return folder


def sentences(count: int, language: str = "en", split: str = "test") -> list[str]:
    """The first sentences of the embedded sample."""
    path = ROOT / "problems" / "data" / f"libreoffice-help.{split}.{language}.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return [line.rstrip("\n") for line, _ in zip(stream, range(count), strict=False)]
