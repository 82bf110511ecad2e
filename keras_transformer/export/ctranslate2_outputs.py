"""What an exported CTranslate2 model says, sentence by sentence, with the text handled as here."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.decoding.length_batches import Sentence
from keras_transformer.decoding.lengths import decode_lengths
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.translator import Translator
from keras_transformer.export.ctranslate2_model import MOST_POSITIONS


class CTranslate2Outputs:
    """An exported folder, loaded.

    Args:
        folder: what `ctranslate2_model.save` wrote.
        translator: of the run it was made from; it encodes sentences and decodes outputs.
        compute_type: CTranslate2's; "default" computes in the stored type where the CPU can.
        threads: cores; 0 leaves it to CTranslate2.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        translator: Translator,
        compute_type: str = "default",
        threads: int = 0,
    ) -> None:
        import ctranslate2

        self._model = ctranslate2.Translator(
            str(folder), device="cpu", compute_type=compute_type, intra_threads=threads
        )
        self._translator = translator
        self._most = translator.most_positions or MOST_POSITIONS
        tokens = json.loads(Path(folder, "tokens.json").read_text("utf-8"))
        self._source_tokens = tokens["inputs"]
        self._id_of = {token: number for number, token in enumerate(tokens["targets"])}

    def texts(
        self, sources: Sequence[str], options: DecodeOptions, own_limits: bool = True
    ) -> list[str]:
        """The best output of each sentence, with that many beams and that alpha.

        Args:
            sources: text, one sentence each.
            options: see `DecodeOptions`; sampling, n_best and length_limit are not read.
            own_limits: CTranslate2 has one length limit for a batch, so sentences of one length are
                batched; False batches them as they come, and the longest sets the limit.
        """
        texts = [self._translator.answer(source, None).text for source in sources]
        sentences = self._translator.encode(sources, options)
        for sentence, (ids, _) in self.outputs(sentences, options, own_limits):
            texts[sentence.place] = self._translator.text_of(ids, sentence.text)
        return texts

    def outputs(
        self, sentences: Sequence[Sentence], options: DecodeOptions, own_limits: bool = True
    ) -> Iterator[tuple[Sentence, tuple[list[int], float]]]:
        """Ids without end of sentence and CTranslate2's score of each sentence, in any order."""
        groups: dict[int, list[Sentence]] = defaultdict(list)
        for sentence in sentences:
            groups[len(sentence.ids) if own_limits else 0].append(sentence)
        for group in groups.values():
            for start in range(0, len(group), options.batch_size):
                batch = group[start : start + options.batch_size]
                yield from zip(batch, self._translate(batch, options), strict=True)

    def _translate(
        self, batch: Sequence[Sentence], options: DecodeOptions
    ) -> list[tuple[list[int], float]]:
        longest, most = max(len(each.ids) for each in batch), self._most
        (limit,) = decode_lengths([longest], options.extra_length, most=most)
        results = self._model.translate_batch(
            [[self._source_tokens[i] for i in sentence.ids[:-1]] for sentence in batch],
            **translate_batch_options(options, most),
            max_decoding_length=limit,
            return_scores=True,
        )
        return [
            ([self._id_of[token] for token in result.hypotheses[0]], result.scores[0])
            for result in results
        ]


def translate_batch_options(
    options: DecodeOptions, most_positions: int | None = None
) -> dict[str, Any]:
    """What to give `ctranslate2.Translator.translate_batch` for a search most like the one here.

    Sources are cut where the positions end or `options.max_input_size` says, the end of sentence
    included; CTranslate2's own default would cut at 1,024 subtokens.
    """
    most = most_positions or MOST_POSITIONS
    return {
        "beam_size": options.beam_size,
        "length_penalty": options.alpha,
        "min_decoding_length": options.min_length,
        "max_input_length": min(options.max_input_size, most)
        if options.max_input_size > 0
        else most,
    }
