"""Faults that others met in exported models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.programs.exported import exported_model

IDS = json.loads((Path(__file__).parent / "data" / "export_ids.json").read_text("utf-8"))


@pytest.mark.slow
def test_a_row_of_ids_is_a_sentence():
    """tensorflow/tensor2tensor#448, #349: N tokens went in as N sentences."""
    tokens = tf.saved_model.load(str(exported_model())).signatures["tokens"]
    found = tokens(inputs=tf.constant(IDS["inputs"], tf.int32))
    assert found["outputs"].shape[0] == found["scores"].shape[0] == IDS["expect_rows"]
    for row, scores in zip(IDS["inputs"], found["scores"].numpy(), strict=True):
        alone = tokens(inputs=tf.constant([[i for i in row if i]], tf.int32))
        np.testing.assert_allclose(alone["scores"].numpy()[0], scores, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("wrap", [lambda ids: ids[0], lambda ids: [ids], lambda ids: [[ids]]])
def test_another_rank_is_refused(wrap):
    tokens = tf.saved_model.load(str(exported_model())).signatures["tokens"]
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        tokens(inputs=tf.constant(wrap(IDS["inputs"]), tf.int32))


@pytest.mark.slow
def test_a_session_refuses_another_rank():
    """As saved_model_cli and other clients of the graph feed it."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], str(exported_model()))
        signature = meta.signature_def["tokens"]
        output, fed = (
            side.name for side in (signature.outputs["outputs"], signature.inputs["inputs"])
        )
        assert session.run(output, {fed: IDS["inputs"]}).shape[0] == IDS["expect_rows"]
        with pytest.raises(ValueError, match="shape"):
            session.run(output, {fed: [IDS["inputs"]]})
