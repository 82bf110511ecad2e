"""run.json that is not what was written is refused with its name."""

from __future__ import annotations

import json

import pytest

from keras_transformer.errors import UserError
from keras_transformer.run_dir import RunDir

RECORD = {
    "format": 1,
    "problem": "algorithmic_copy",
    "options": {},
    "hparams_set": "tiny",
    "usr_dir": None,
    "data_dir": None,
    "vocabularies": {},
    "target_space_id": 0,
}


@pytest.mark.parametrize(
    "change",
    [
        {"problem": 5},
        {"options": []},
        {"vocabularies": [1]},
        {"vocabularies": {"inputs": "name"}},
        {"vocabularies": {"elsewhere": {}}},
        {"target_space_id": "x"},
        {"usr_dir": 7},
    ],
)
def test_a_value_of_another_type_is_refused(tmp_path, change):
    (tmp_path / "run.json").write_text(json.dumps({**RECORD, **change}))

    with pytest.raises(UserError, match="run.json is not what kt-trainer writes"):
        RunDir.open(tmp_path)


def test_settings_alone_are_what_a_killed_start_left(tmp_path):
    (tmp_path / "hparams.json").write_text("{}")
    assert not RunDir.exists(tmp_path)
    (tmp_path / "flags_t2t.txt").write_text("--problem=translate_ende_wmt32k\n")
    assert RunDir.exists(tmp_path)  # T2T writes both before its first checkpoint
