"""What an export costs: its size, the change of BLEU, and how many outputs stay the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keras_transformer.scoring import bleu

MEASURE = "t2t_cased"


@dataclass(frozen=True)
class Comparison:
    """Outputs of an exported model beside those of kt-decoder.

    Attributes:
        exported: what the exported model is called.
        sentences: how many were translated by both.
        same: outputs that are equal, character by character.
        exported_bleu, exact_bleu: scores by `MEASURE`.
    """

    exported: str
    sentences: int
    same: int
    exported_bleu: float
    exact_bleu: float


def compare(
    name: str, outputs: Sequence[str], exact: Sequence[str], references: Sequence[str]
) -> Comparison:
    """Compares outputs of an exported model, called `name`, with kt-decoder's."""
    return Comparison(
        exported=name,
        sentences=len(references),
        same=sum(one == other for one, other in zip(outputs, exact, strict=True)),
        exported_bleu=bleu.score(outputs, references, MEASURE).score,
        exact_bleu=bleu.score(exact, references, MEASURE).score,
    )


@dataclass(frozen=True)
class ExportReport:
    """What is told of an export.

    Attributes:
        export_dir: its folder.
        format: `saved_model` or `ctranslate2`.
        weights: how they are stored.
        folder_bytes: size of all files.
        weight_bytes, float32_bytes: of the weights alone, and in float32; None if not known.
        comparison: None if nothing was translated.
    """

    export_dir: str
    format: str
    weights: str
    folder_bytes: int
    weight_bytes: int | None = None
    float32_bytes: int | None = None
    comparison: Comparison | None = None

    def lines(self) -> list[str]:
        """For people: the folder, then a line for each thing that is known."""
        lines = [self.export_dir]
        if self.weight_bytes is not None and self.float32_bytes is not None:
            lines.append(
                f"weights   {self.weights} {self.weight_bytes / 1e6:.1f} MB,"
                f" float32 {self.float32_bytes / 1e6:.1f} MB"
            )
        lines.append(f"folder    {self.folder_bytes / 1e6:.1f} MB")
        found = self.comparison
        if found is None:
            return [*lines, "BLEU      not measured: give --source and --reference"]
        lines.append(
            f"BLEU      {found.exported} {found.exported_bleu:.2f},"
            f" kt-decoder {found.exact_bleu:.2f} ({MEASURE}, {found.sentences} sentences)"
        )
        return [*lines, f"the same  {found.same} of {found.sentences} outputs"]

    def as_dict(self) -> dict[str, Any]:
        """For programs; `bleu` is null if nothing was translated."""
        found = self.comparison
        return {
            "export_dir": self.export_dir,
            "format": self.format,
            "weights": self.weights,
            "folder_bytes": self.folder_bytes,
            "weight_bytes": self.weight_bytes,
            "float32_bytes": self.float32_bytes,
            "bleu": found
            and {
                "measure": MEASURE,
                "sentences": found.sentences,
                "exported": found.exported_bleu,
                "kt_decoder": found.exact_bleu,
                "change": found.exported_bleu - found.exact_bleu,
                "same_outputs": found.same,
            },
        }
