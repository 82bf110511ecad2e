"""What the tests of kt-decoder share."""

from __future__ import annotations

import pytest

_runs: dict = {}
_translators: dict = {}


@pytest.fixture
def each_model_once(monkeypatch):
    """Runs of the same model share its translator, which saves reading and tracing it again."""
    from keras_transformer.cli import decoder
    from keras_transformer.decoding.translator import Translator

    read_run, build_translator = decoder.load_run, Translator.of_loaded

    def load_run(flags, checkpoint_path):
        # What names a model, not what names its text.
        key = (flags.output_dir, checkpoint_path, flags.problem)
        if key not in _runs:
            _runs[key] = read_run(flags, checkpoint_path)
        return _runs[key]

    def translator(loaded):
        if id(loaded) not in _translators:
            _translators[id(loaded)] = build_translator(loaded)
        return _translators[id(loaded)]

    monkeypatch.setattr(decoder, "load_run", load_run)
    monkeypatch.setattr(Translator, "of_loaded", translator)
