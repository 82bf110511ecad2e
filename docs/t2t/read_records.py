"""Reads a data directory with Tensor2Tensor itself and lists every record.

For a Python 3.7 that has Tensor2Tensor (tensorflow==1.15.5 tensor2tensor==1.15.7 protobuf==3.20.3
"numpy<1.19" gym==0.15.4 "tensorflow-datasets<4"):

    python read_records.py --problem=translate_ende_wmt32k --data_dir=data --split=train > records.txt

One line a record, in file order: ids of the inputs, a tab, ids of the targets; on standard error
the number of records, and how many do not decode and encode back to the same ids.
"""

from __future__ import print_function

import argparse
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--problem", required=True)
parser.add_argument("--data_dir", required=True)
parser.add_argument("--split", default="train", choices=["train", "dev", "test"])
parser.add_argument("--t2t_usr_dir")
flags = parser.parse_args()

import tensorflow as tf  # noqa: E402
from tensor2tensor import problems  # noqa: E402
from tensor2tensor.utils import usr_dir  # noqa: E402

if flags.t2t_usr_dir:
    usr_dir.import_usr_dir(flags.t2t_usr_dir)
problem = problems.problem(flags.problem)
encoders = problem.feature_encoders(flags.data_dir)
hparams = tf.contrib.training.HParams(data_dir=flags.data_dir)
mode = {"train": "train", "dev": "eval", "test": "infer"}[flags.split]
dataset = problem.dataset(
    mode,
    data_dir=flags.data_dir,
    dataset_split={"train": "train", "dev": "eval", "test": "test"}[flags.split],
    shuffle_files=False,
    output_buffer_size=100,
    preprocess=False,
    hparams=hparams,
    num_threads=1,
)
example = dataset.make_one_shot_iterator().get_next()
count = strange = 0
with tf.Session() as session:
    while True:
        try:
            record = session.run(example)
        except tf.errors.OutOfRangeError:
            break
        count += 1
        sides = [record[name].flatten().tolist() for name in ("inputs", "targets")]
        print("\t".join(" ".join(str(i) for i in side) for side in sides))
        for name, side in zip(("inputs", "targets"), sides):
            encoder = encoders[name]
            if encoder.encode(encoder.decode(side[:-1])) != side[:-1] or side[-1] != 1:
                strange += 1
print("{} records, {} sides do not come back as they are".format(count, strange), file=sys.stderr)
