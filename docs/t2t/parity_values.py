"""Computes with Tensor2Tensor itself what `kt-import-t2t --verify --parity_file=` compares with.

For a Python 3.7 that has Tensor2Tensor (see read_records.py):

    python parity_values.py --problem=translate_ende_wmt32k --hparams_set=transformer_base \
        --data_dir=data --output_dir=t2t_train/ende --sentences=some.en --parity_file=parity.npz
    kt-import-t2t --verify --output_dir=runs/ende --parity_file=parity.npz

`--sentences` holds a source sentence a line; a few dozen are plenty. Its greedy outputs by T2T are
also the targets whose logits are compared.
"""

from __future__ import print_function

import argparse
import json

parser = argparse.ArgumentParser()
parser.add_argument("--problem", required=True)
parser.add_argument("--hparams_set", required=True)
parser.add_argument("--hparams", default="")
parser.add_argument("--data_dir", required=True)
parser.add_argument("--output_dir", required=True)
parser.add_argument("--sentences", required=True)
parser.add_argument("--parity_file", required=True)
parser.add_argument("--beam_size", type=int, default=4)
parser.add_argument("--alpha", type=float, default=0.6)
parser.add_argument("--extra_length", type=int, default=20)
parser.add_argument("--t2t_usr_dir")
flags = parser.parse_args()

import io  # noqa: E402

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensor2tensor import models  # noqa: E402, F401
from tensor2tensor.utils import registry, trainer_lib, usr_dir  # noqa: E402

if flags.t2t_usr_dir:
    usr_dir.import_usr_dir(flags.t2t_usr_dir)
hparams = trainer_lib.create_hparams(
    flags.hparams_set, flags.hparams, flags.data_dir, flags.problem
)
encoders = registry.problem(flags.problem).feature_encoders(flags.data_dir)
checkpoint = tf.train.latest_checkpoint(flags.output_dir)


def padded(rows):
    table = np.zeros((len(rows), max(len(row) for row in rows)), np.int32)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


def run(mode, features, compute):
    """Builds T2T's model in a graph of its own and evaluates it from the checkpoint."""
    with tf.Graph().as_default():
        model = registry.model("transformer")(hparams, mode)
        tensors = {
            name: tf.constant(ids[:, :, None, None] if ids.ndim == 2 else ids)
            for name, ids in features.items()
        }
        wanted = compute(model, tensors)
        with tf.Session() as session:
            tf.train.Saver(tf.trainable_variables()).restore(session, checkpoint)
            return session.run(wanted)


def decode(beam_size):
    def compute(model, features):
        with tf.variable_scope(tf.get_variable_scope()):
            outputs = model.infer(
                features,
                decode_length=flags.extra_length,
                beam_size=beam_size,
                top_beams=beam_size,
                alpha=flags.alpha,
            )
        return {"ids": outputs["outputs"], "scores": outputs["scores"]}

    result = run(tf.estimator.ModeKeys.PREDICT, {"inputs": inputs}, compute)
    return np.asarray(result["ids"]).reshape(len(inputs), beam_size, -1), result["scores"]


with io.open(flags.sentences, encoding="utf-8") as stream:
    lines = [line.strip() for line in stream]
inputs = padded([encoders["inputs"].encode(line) + [1] for line in lines])
beams, beam_scores = decode(flags.beam_size)
greedy, _ = decode(1)
greedy = greedy[:, 0]
targets = padded([row[: row.index(1) + 1] if 1 in row else row for row in greedy.tolist()])
logits = run(
    tf.estimator.ModeKeys.EVAL,
    {"inputs": inputs, "targets": targets, "target_space_id": np.int32(0)},
    lambda model, features: model(features)[0],
)
settings = {
    "beam_size": flags.beam_size,
    "alpha": flags.alpha,
    "decode_length_extra": flags.extra_length,
}
np.savez_compressed(
    flags.parity_file,
    inputs=inputs,
    targets=targets,
    logits=np.asarray(logits)[:, :, 0, 0],
    decode_greedy_ids=greedy,
    decode_beam4_ids=beams,
    decode_beam4_scores=np.reshape(beam_scores, beams.shape[:2]),
    decode_beam4_row_is_stable=np.ones(len(inputs), bool),
    settings=np.array(json.dumps(settings)),
)
print("wrote {} with {} sentences".format(flags.parity_file, len(inputs)))
