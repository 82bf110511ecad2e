"""T2T checkpoint → model, with an account of every variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_transformer.config import HParams
from keras_transformer.errors import UserError
from keras_transformer.t2t_compat import hparams_json
from keras_transformer.t2t_compat.checkpoint_files import CheckpointReader
from keras_transformer.t2t_compat.layout import Layout, detect_layout
from keras_transformer.t2t_compat.report import ImportReport, account
from keras_transformer.t2t_compat.target_space import SPACE_NAMES, trained_target_spaces
from keras_transformer.t2t_compat.weights import Source, weight_sources

if TYPE_CHECKING:
    from keras_transformer.model.transformer import Transformer

HParamsLike = HParams | Mapping[str, Any] | str | Path | None


@dataclass
class CheckpointDescription:
    """What a T2T checkpoint is, before any weight is read.

    Attributes:
        reader: the open checkpoint.
        layout: what its variables tell.
        hparams: the settings, those the variables tell put in.
        target_space_id: the row of the target-space table in use.
        notes: for the report.
    """

    reader: CheckpointReader
    layout: Layout
    hparams: HParams
    target_space_id: int
    notes: list[str]


@dataclass
class LoadedCheckpoint(CheckpointDescription):
    """A model filled from a T2T checkpoint.

    Attributes:
        model: float32 weights, built for the checkpoint's vocabulary sizes.
        sources: model weight → where it came from; also tells the optimizer's slots (`moments`).
        report: the account of every variable.
    """

    model: Transformer
    sources: dict[str, Source]
    report: ImportReport


def load_model(
    checkpoint: str | Path,
    hparams: HParamsLike = None,
    target_space_id: int | None = 0,
    vocab_sizes: Mapping[str, int] | None = None,
    overrides: str = "",
) -> Transformer:
    """The model of a T2T checkpoint, layout and vocabulary sizes found from its variables.

    Args:
        checkpoint: prefix, run directory or SavedModel directory.
        hparams: an hparams.json (a path; a relative one is looked for here, then beside the
            checkpoint), its contents, an HParams, or the name of a set; None looks for hparams.json
            beside the checkpoint.
        target_space_id: row of the target-space table (0: T2T from 1.5.2 on; 8: German before);
            None finds the row that training has moved.
        vocab_sizes: side → size of the vocabulary file, checked against the tables.
        overrides: `num_heads=8,…` applied last.

    Raises:
        UserError: the checkpoint cannot be read, is no T2T Transformer, or does not fit the
            settings.
    """
    described = describe_checkpoint(checkpoint, hparams, target_space_id, overrides)
    return load_described(described, vocab_sizes).model


def describe_checkpoint(
    checkpoint: str | Path,
    hparams: HParamsLike = None,
    target_space_id: int | None = None,
    overrides: str = "",
    known_target_space_id: int | None = None,
) -> CheckpointDescription:
    """Reads a checkpoint's index and settings; see `load_model`.

    Args:
        known_target_space_id: what the problem declares; used where the variables cannot tell.
    """
    reader = CheckpointReader(checkpoint)
    layout = detect_layout(reader.shapes, str(reader.prefix))
    notes: list[str] = []
    hp, origin = _settings(hparams, reader, layout, notes)
    if overrides:
        hp = hp.override(overrides)
    hp = _fit(hp, layout, origin, overrides, notes)
    space = _target_space(reader, layout, target_space_id, known_target_space_id, notes)
    return CheckpointDescription(reader, layout, hp, space, notes)


def load_described(
    described: CheckpointDescription, vocab_sizes: Mapping[str, int] | None = None
) -> LoadedCheckpoint:
    """Builds the model and fills it, one variable at a time.

    Args:
        vocab_sizes: side → size of the vocabulary file, checked against the tables.
    """
    reader, layout, hp = described.reader, described.layout, described.hparams
    sizes = _vocab_sizes(layout, hp, vocab_sizes)

    from keras_transformer.model.transformer import Transformer, weights_to_be_loaded

    with weights_to_be_loaded():
        model = Transformer.from_hparams(
            hp,
            source_vocab_size=sizes["inputs"],
            target_vocab_size=sizes["targets"],
            target_space_id=described.target_space_id,
        )
    weights = model.named_weights()
    sources = weight_sources(layout)
    shapes = {name: tuple(variable.shape) for name, variable in weights.items()}
    report = account(str(reader.prefix), layout, reader.shapes, sources, shapes)
    report.notes += described.notes
    for name, variable in weights.items():
        variable.assign(sources[name].read(reader.tensor))
    return LoadedCheckpoint(
        reader, layout, hp, described.target_space_id, described.notes, model, sources, report
    )


def _settings(
    hparams: HParamsLike, reader: CheckpointReader, layout: Layout, notes: list[str]
) -> tuple[HParams, str]:
    if isinstance(hparams, HParams):
        return hparams, "the given settings"
    if isinstance(hparams, Mapping):
        values, origin = dict(hparams), "the given settings"
    else:
        path = Path(hparams) if hparams else reader.prefix.parent / "hparams.json"
        if hparams and not path.is_file() and path.suffix != ".json":
            return hparams_json.settings_of_set(str(hparams), layout), f"the set {hparams}"
        if not hparams and not path.is_file():
            raise UserError(
                f"{reader.prefix.parent} holds no hparams.json, and the number of heads cannot be"
                " read off the variables: name the set it was trained with (--hparams_set=...),"
                " or give the file (--hparams_json=...)"
            )
        beside = reader.prefix.parent / path
        if not path.is_file() and beside.is_file():
            path = beside
        values, origin = hparams_json.read_hparams_file(path), str(path)
    hp, found = hparams_json.translate_hparams(values, origin)
    notes += found
    return hp, origin


def _fit(hp: HParams, layout: Layout, origin: str, overrides: str, notes: list[str]) -> HParams:
    if hp.hidden_size != layout.hidden_size and "num_heads" not in overrides:
        raise UserError(
            f"{origin} says hidden_size={hp.hidden_size}, but the checkpoint's is"
            f" {layout.hidden_size}: these settings are another model's, so their num_heads cannot"
            " be trusted either; name the right set, or give --hparams=num_heads=..."
        )
    fitted = hparams_json.fit_to_layout(hp, layout, origin)
    told = [
        f"{name} {mine} → {theirs}"
        for name, mine, theirs in hp.differences(fitted)
        if name != "attention_bias"
    ]
    if told:
        notes.append(f"settings of {origin} that the variables overrule: {', '.join(told)}")
    return fitted


def _vocab_sizes(layout: Layout, hp: HParams, given: Mapping[str, int] | None) -> dict[str, int]:
    sizes = dict(layout.padded_vocab_sizes)
    for side, size in (given or {}).items():
        rows = -(-size // hp.vocab_divisor) * hp.vocab_divisor
        if rows != sizes[side]:
            raise UserError(
                f"the vocabulary of the {side} has {size} entries, but the checkpoint's table has"
                f" {sizes[side]} rows: it is not the vocabulary this model was trained with"
            )
        sizes[side] = size
    return sizes


def _target_space(
    reader: CheckpointReader,
    layout: Layout,
    given: int | None,
    known: int | None,
    notes: list[str],
) -> int:
    if not layout.target_space_rows:
        return 0
    trained = trained_target_spaces(reader, layout)
    chosen = given if given is not None else known
    if given is None and trained is not None and len(trained) == 1:
        chosen = trained[0]
    if chosen is None:
        raise UserError(
            f"{reader.prefix}: which target space it was trained with cannot be read off the"
            " variables; give --target_space_id (0 for translation from T2T 1.5.2 on, before that 8"
            " for German, 6 for French; 15 for parsing in 2017)"
        )
    if not 0 <= chosen < layout.target_space_rows:
        raise UserError(
            f"target_space_id is {chosen}: the table has rows 0 to {layout.target_space_rows - 1}"
        )
    if given is not None:
        how = "given"
    elif trained is not None and len(trained) == 1:
        how = "found from the trained row"
    else:
        how = (
            "declared by the problem; releases before 1.5.2 used 8 for German and 6 for French, so"
            " give --target_space_id if the model is older"
        )
    notes.append(f"target space {chosen} ({SPACE_NAMES.get(chosen, 'unnamed')}), {how}")
    if trained and chosen not in trained:
        notes.append(
            f"WARNING: the checkpoint was trained with target space {trained}, not {chosen};"
            " its translations will be wrong"
        )
    return chosen
