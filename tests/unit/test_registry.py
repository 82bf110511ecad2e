"""A user's package of problems and sets: its mistakes are named with their file and line."""

from __future__ import annotations

import uuid

import pytest

from keras_transformer import registry
from keras_transformer.errors import UserError


def _package(tmp_path, code):
    folder = tmp_path / f"mine_{uuid.uuid4().hex}"
    folder.mkdir()
    (folder / "__init__.py").write_text(code)
    return folder


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1\ndef broken(:\n", "line 2: SyntaxError: invalid syntax"),
        ("x = 1\n\nunknown_name\n", "line 3: NameError: name 'unknown_name' is not defined"),
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3"),
        ("import no_such_module_here\n", "line 1: ModuleNotFoundError: No module named"),
    ],
)
def test_what_is_wrong_in_a_users_package_is_named_with_its_place(tmp_path, code, message):
    folder = _package(tmp_path, code)

    with pytest.raises(UserError) as caught:
        registry.import_usr_dir(str(folder))

    assert f"{folder / '__init__.py'}, {message}" in str(caught.value)


def test_a_set_that_is_no_hparams_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_hparams", {})
    registry.register_hparams("a_number")(lambda: 3)

    with pytest.raises(UserError, match="'a_number'.*returns 3; it must return HParams"):
        registry.hparams("a_number")
