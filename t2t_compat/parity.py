"""Parity: the numbers a model gave once, compared with those it gives now, on any machine.

A parity file is an `.npz` with arrays named as below, B sentences, S source, T target positions,
K beams, L output positions; a file need not hold all of them.

    inputs, targets                      [B, S], [B, T] int32
    encoder_output                       [B', S, d] of the first B' sentences
    logits, logits_rows                  [B', T, V] of the sentences logits_rows (all without it)
    eval_loss_num, eval_loss_den         sum of the cross-entropy in nats, target subtokens
    train_nodropout_loss_num, _den       the same with the run's label smoothing
    decode_greedy_ids, _scores           [B, L], [B]
    decode_beam4_ids, _scores            [B, K, L], [B, K]
    decode_beam4_top1_ids, _scores       [B, L], [B]; the search asked for one output
    decode_…_row_is_stable               [B] bool; other rows are near-ties and not compared
    settings                             JSON: beam_size, alpha, decode_length_extra (subtokens an
                                         output may have more than S)

`record` makes one of fixed sentences when a checkpoint is taken over; one made by Tensor2Tensor
itself (docs/migrate-from-t2t.md has a script) proves the whole way. A file of beams without
`row_is_stable` is of a release before 1.15, whose search ended by another rule: of those the best
beam is compared.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.run_dir import RunDir

if TYPE_CHECKING:
    from keras_transformer.model.transformer import Transformer

PARITY_FILE = "import_parity.npz"
SETTINGS_FILE = "decode_settings.json"
BEAM_SIZE, ALPHA, EXTRA_LENGTH = 4, 0.6, 20
# Source and target of the recorded sentences; their translation is beside the point.
SENTENCES = (
    ("How are you?", "Wie geht es dir?"),
    ("The house is small, but the garden is 1,200 square metres.", "Das Haus ist klein."),
    ("Naïve café owners don't worry: prices rose by 3.5 % in 2016.", "Die Preise stiegen."),
    ("", "Nichts."),
)  # fmt: skip

# Decoding in a parity file → its name on the screen.
_NAMES = {"greedy": "greedy output", "beam4": "all beams", "beam4_top1": "single output"}

LOGITS_TOLERANCE = 2e-4
ENCODER_TOLERANCE = 1e-4
LOSS_TOLERANCE = 1e-4  # relative
SCORE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Comparison:
    """One row of a parity check.

    Attributes:
        name: what was compared.
        agrees: whether it lies within the tolerance.
        detail: the largest difference and its bound, or the rows that differ.
    """

    name: str
    agrees: bool
    detail: str

    def line(self) -> str:
        """For the screen."""
        return f"{'ok  ' if self.agrees else 'FAIL'} {self.name}: {self.detail}"


def record(folder: str | os.PathLike[str], model: Transformer, run: RunDir) -> Path:
    """Runs the fixed sentences through the model and writes `import_parity.npz`.

    A row counts as stable if weights changed by 1e-5 of their value decode to the same ids. The
    model's weights are changed for that and put back.
    """
    encoders = run.encoders()
    inputs = _padded(
        [encoders["inputs"].encode(run.problem.prepare_input(s)) for s, _ in SENTENCES]
    )
    targets = _padded([encoders["targets"].encode(t) for _, t in SENTENCES])
    settings = {"beam_size": BEAM_SIZE, "alpha": ALPHA, "decode_length_extra": EXTRA_LENGTH}
    arrays = {"inputs": inputs, "targets": targets}
    arrays |= _outputs(model, inputs, targets, run.hparams.label_smoothing)
    arrays |= _decodes(model, inputs, settings)
    exact = {name: variable.numpy() for name, variable in model.named_weights().items()}
    noise = np.random.default_rng(0)
    for name, variable in model.named_weights().items():
        factor = 1.0 + 1e-5 * noise.standard_normal(exact[name].shape, np.float32)
        variable.assign(exact[name] * factor)
    shaken = _decodes(model, inputs, settings)
    for name, variable in model.named_weights().items():
        variable.assign(exact[name])
    for kind in ("greedy", "beam4"):
        name = f"decode_{kind}_ids"
        arrays[f"decode_{kind}_row_is_stable"] = np.array(
            [_same(a, b) for a, b in zip(arrays[name], shaken[name], strict=True)]
        )
    path = Path(folder) / PARITY_FILE
    temporary = path.with_name(f".{PARITY_FILE}.{os.getpid()}.tmp")
    with temporary.open("wb") as stream:
        arrays["settings"] = np.array(json.dumps(settings))
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    os.replace(temporary, path)
    return path


def verify(
    model: Transformer, path: str | os.PathLike[str], label_smoothing: float
) -> list[Comparison]:
    """Computes everything a parity file holds and compares.

    Args:
        model: the model under test.
        path: the parity file.
        label_smoothing: the run's, for `train_nodropout_loss`.

    Raises:
        UserError: there is no such file, or it is not a parity file.
    """
    return list(_compare(model, _read(Path(path)), label_smoothing))


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror or error}); kt-import-t2t writes it when a"
            " checkpoint is taken over"
        ) from None
    except ValueError as error:
        raise UserError(f"{path} is not an .npz file ({error})") from None
    if "inputs" not in arrays or "targets" not in arrays:
        raise UserError(f"{path} is no parity file: it holds no inputs and targets")
    if "settings" not in arrays and (path.parent / SETTINGS_FILE).is_file():
        beam = json.loads((path.parent / SETTINGS_FILE).read_text(encoding="utf-8"))["beam4"]
        arrays["settings"] = np.array(json.dumps(beam))
    return arrays


def _compare(
    model: Transformer, stored: dict[str, np.ndarray], label_smoothing: float
) -> Iterator[Comparison]:
    inputs, targets = stored["inputs"], stored["targets"]
    top = max(int(inputs.max(initial=0)) - model.source_vocab_size + 1, 0)
    if top or int(targets.max(initial=0)) >= model.target_vocab_size:
        raise UserError("the parity file's ids do not fit the model's vocabulary; another model's")
    now = _outputs(model, inputs, targets, label_smoothing)
    for name, bound in (("encoder_output", ENCODER_TOLERANCE), ("logits", LOGITS_TOLERANCE)):
        if name in stored:
            rows = stored.get(f"{name}_rows", np.arange(len(stored[name])))
            yield _close(name, now[name][rows], stored[name], bound)
    for name in ("eval_loss", "train_nodropout_loss"):
        if f"{name}_num" in stored:
            bound = LOSS_TOLERANCE * max(1.0, abs(float(stored[f"{name}_num"])))
            # Releases before 1.7 smooth labels in evaluation too.
            close = _close(name, now[f"{name}_num"], stored[f"{name}_num"], bound)
            smoothed = now["train_nodropout_loss_num"]
            yield close if close.agrees else _close(name, smoothed, stored[f"{name}_num"], bound)
            count, wanted = int(now["eval_loss_den"]), int(stored[f"{name}_den"])
            yield Comparison(f"{name} count", count == wanted, f"{count} target subtokens")
    if "decode_greedy_ids" in stored or "decode_beam4_ids" in stored:
        yield from _compare_decodes(model, stored)


def _compare_decodes(model: Transformer, stored: dict[str, np.ndarray]) -> Iterator[Comparison]:
    if "settings" not in stored:
        raise UserError(
            "the parity file holds decoded ids but not with what beam_size, alpha and"
            f" decode_length_extra (array `settings`, or {SETTINGS_FILE} beside it)"
        )
    settings = json.loads(str(stored["settings"]))
    now = _decodes(model, stored["inputs"], settings)
    is_old = "decode_beam4_row_is_stable" not in stored
    for kind in _NAMES:
        ids = stored.get(f"decode_{kind}_ids")
        if ids is None:
            continue
        mine = now[f"decode_{kind}_ids"]
        scores, my_scores = stored.get(f"decode_{kind}_scores"), now[f"decode_{kind}_scores"]
        what = {"greedy": "greedy output", "beam4": "all beams", "beam4_top1": "single output"}[
            kind
        ]
        if kind == "beam4" and is_old:
            what, ids, mine = "best beam", ids[:, :1], mine[:, :1]
            scores, my_scores = None if scores is None else scores[:, :1], my_scores[:, :1]
        stable = stored.get(f"decode_{kind}_row_is_stable", np.ones(len(ids), bool))
        wrong = [r for r in np.flatnonzero(stable) if not _same(ids[r], mine[r])]
        detail = f"{int(stable.sum())} of {len(ids)} sentences are no near-ties"
        if wrong:
            detail += f"; {len(wrong)} of them differ, the first is number {wrong[0]}"
        yield Comparison(f"{what}, ids", not wrong, detail)
        if scores is not None and not wrong:
            # Places without an output have scores near -1e7, where a float has no decimals.
            real = np.reshape(stable, (-1,) + (1,) * (scores.ndim - 1)) & (scores > -1e6)
            yield _close(
                f"{what}, scores", np.where(real, my_scores, 0.0), np.where(real, scores, 0.0),
                SCORE_TOLERANCE,
            )  # fmt: skip


def _outputs(
    model: Transformer, inputs: np.ndarray, targets: np.ndarray, label_smoothing: float
) -> dict[str, np.ndarray]:
    from keras_transformer.training.loss import padded_cross_entropy

    logits = model({"inputs": inputs, "targets": targets}, training=False)
    plain, count = padded_cross_entropy(logits, targets)
    smoothed, _ = padded_cross_entropy(logits, targets, label_smoothing)
    return {
        "encoder_output": np.asarray(model.encode(inputs), np.float32),
        "logits": logits.numpy(),
        "eval_loss_num": plain.numpy(),
        "eval_loss_den": count.numpy(),
        "train_nodropout_loss_num": smoothed.numpy(),
        "train_nodropout_loss_den": count.numpy(),
    }


def _decodes(
    model: Transformer, inputs: np.ndarray, settings: dict[str, Any]
) -> dict[str, np.ndarray]:
    length = inputs.shape[1] + settings["decode_length_extra"]
    beam_size = settings["beam_size"]
    arrays = {}
    for kind, beams, top in (
        ("greedy", 1, 1), ("beam4", beam_size, beam_size), ("beam4_top1", beam_size, 1),
    ):  # fmt: skip
        ids, scores = model.decode(
            inputs, beam_size=beams, alpha=settings["alpha"], decode_length=length, top_beams=top
        )
        single = kind != "beam4"
        arrays[f"decode_{kind}_ids"] = ids.numpy()[:, 0] if single else ids.numpy()
        arrays[f"decode_{kind}_scores"] = scores.numpy()[:, 0] if single else scores.numpy()
    return arrays


def _close(name: str, mine: Any, theirs: Any, bound: float) -> Comparison:
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if mine.shape != theirs.shape:
        return Comparison(name, False, f"shape {list(mine.shape)}, stored {list(theirs.shape)}")
    # NaN must not pass.
    worst = float(np.max(np.abs(mine - theirs), initial=0.0)) if mine.size else 0.0
    return Comparison(name, worst <= bound, f"largest difference {worst:.2g} (bound {bound:.2g})")


def _same(first: np.ndarray, second: np.ndarray) -> bool:
    """Equal ids up to the first end of sentence, padding aside."""
    if first.ndim > 1:
        return all(_same(a, b) for a, b in zip(first, second, strict=True))
    return _cut(first) == _cut(second)


def _cut(ids: np.ndarray) -> list[int]:
    row = ids.tolist()
    if 1 in row:
        return row[: row.index(1) + 1]
    while row and row[-1] == 0:
        row.pop()
    return row


def _ids(encoder: Any, text: str) -> list[int]:
    """The text's ids; where the vocabulary lacks a word of it, ids made from its letters."""
    try:
        return encoder.encode(text)
    except UserError:
        return [2 + sum(word.encode()) % (encoder.vocab_size - 2) for word in text.split()]


def _padded(rows: list[list[int]]) -> np.ndarray:
    length = max(len(row) for row in rows) + 1
    table = np.zeros((len(rows), length), np.int32)
    for number, row in enumerate(rows):
        table[number, : len(row) + 1] = [*row, 1]
    return table
