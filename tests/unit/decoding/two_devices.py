"""Decodes on two devices, as a program of its own: a CPU is cut in two before TensorFlow starts.

    python -m tests.unit.decoding.two_devices RUN_DIR VOCABULARY INPUT

Prints a JSON object: where each replica's weights are, how many batches each device decoded, and
the outputs.
"""

from __future__ import annotations

import collections
import json
import sys

from keras_transformer.decoding.search_graph import SearchGraph
from keras_transformer.decoding.translator import Translator
from keras_transformer.training.distribution import cut_cpu


def main(run_dir: str, vocabulary: str, source: str) -> None:
    cut_cpu(2)
    translator = Translator.load(run_dir, vocab_file=vocabulary)
    search, batches = SearchGraph.search, collections.Counter()

    def counts(self, *args, **kwargs):
        batches[self.device] += 1
        return search(self, *args, **kwargs)

    SearchGraph.search = counts
    with open(source, encoding="utf-8") as stream:
        lines = stream.read().splitlines() * 3
    outputs = [each.text for each in translator.translate(lines, batch_size=2)]
    weights = [
        sorted({variable.value.device for variable in replica[0].variables})
        for replica in translator.models
    ]
    print(json.dumps({"weights": weights, "batches": batches, "outputs": outputs}))


if __name__ == "__main__":
    main(*sys.argv[1:])
