"""From the trainer's flags to a run directory: what is refused before anything is made."""

from __future__ import annotations

import pytest

from keras_transformer.cli.trainer import main


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused(tmp_path, capsys, seed):
    assert main([f"--output_dir={tmp_path / 'new'}", f"--random_seed={seed}"]) == 2
    assert f"--random_seed={seed}: a seed is" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
