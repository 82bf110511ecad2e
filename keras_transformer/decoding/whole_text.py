"""A whole text under T2T's length limit, `batch`, in the order in which it is decoded.

Under that limit the longest sentence of a batch sets the limit of all, and T2T cuts its batches
from the whole text, sorted by number of words. So the text is held in memory, and its outputs come
out of order. Their order is the same in every run over the same text with the same batch size: a
run can go on where another one was stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keras_transformer.decoding.length_batches import as_tensor2tensor
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.translation import Translation
from keras_transformer.decoding.translator import Translator


class WholeText:
    """The sentences of a text in T2T's batches.

    Args:
        translator: see `Translator`.
        sentences: the whole text.
        options: with `length_limit="batch"`.

    Attributes:
        order: indices of the sentences in the order in which they are decoded; those that the model
            is not shown stand last.

    Raises:
        UserError: options that are refused.
    """

    def __init__(
        self, translator: Translator, sentences: Sequence[str], options: DecodeOptions
    ) -> None:
        translator.prepare_grammar(options)
        self._translator, self._sentences, self._options = translator, sentences, options
        encoded = translator.encode(sentences, options)
        self._batches = as_tensor2tensor(encoded, options.batch_size)
        self._seen = [sentence.place for batch in self._batches for sentence in batch]
        unseen = sorted({*range(len(sentences))}.difference(self._seen))
        self.order = [*self._seen, *unseen]

    def translations(self, done: int = 0) -> Iterator[Translation]:
        """Outputs in the order of `order`, but for the first `done`.

        A batch of which some are done is decoded again whole: its limit is that of all.
        """
        start = min(done // self._options.batch_size, len(self._batches))
        place = start * self._options.batch_size
        found = self._translator.decode_batches(self._batches[start:], self._options)
        for batch, outputs in found:
            for sentence, hypotheses in zip(batch, outputs, strict=True):
                if place >= done:
                    yield self._translator.answer(sentence.text, hypotheses)
                place += 1
        for index in self.order[max(done, len(self._seen)) :]:
            yield self._translator.answer(self._sentences[index], None)
