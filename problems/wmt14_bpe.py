"""`translate_ende_wmt_bpe32k`: the tokenised, BPE-split WMT16 text T2T had until 1.12.0.

The archive's public link does not serve it any more, so it is read from the temporary directory:
`wmt16_en_de.tar.gz` or the files themselves. Words are looked up whole, so text to be decoded must
be tokenised and BPE-split by the user (tensorflow/tensor2tensor#309).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_transformer.data import corpora, download
from keras_transformer.data.problem import DatasetSplit
from keras_transformer.data.text_problem import VocabType
from keras_transformer.data.translate_problem import TranslateProblem
from keras_transformer.errors import UserError
from keras_transformer.registry import register_problem
from keras_transformer.text.lines import read_lines, write_lines

ARCHIVE = "wmt16_en_de.tar.gz"
DRIVE = "https://drive.google.com/open?id=0B_bZck-ksdkpM25jRUN2X2UxMm8"
VOCABULARY = "vocab.bpe.32000"
TRAIN = ("train.tok.clean.bpe.32000.en", "train.tok.clean.bpe.32000.de")
DEV = ("newstest2013.tok.bpe.32000.en", "newstest2013.tok.bpe.32000.de")
TEST = ("newstest2014.tok.bpe.32000.en", "newstest2014.tok.bpe.32000.de")


@register_problem
class TranslateEndeWmtBpe32k(TranslateProblem):
    """English to German, WMT16 text already split by BPE; read from local files."""

    vocab_type = VocabType.TOKEN
    oov_token = "UNK"
    languages = ("en", "de")

    @property
    def vocab_filename(self) -> str:
        return VOCABULARY

    def source_data_files(self, dataset_split: str) -> Sequence[Any]:
        files = {DatasetSplit.TRAIN: TRAIN, DatasetSplit.EVAL: DEV, DatasetSplit.TEST: TEST}
        return [[ARCHIVE, files[dataset_split]]]

    def _corpora(self, split: str) -> list[corpora.Corpus]:
        return [corpora.Corpus.from_t2t(source) for source in self.source_data_files(split)]

    def prepare_sources(self, data_dir: str, tmp_dir: str) -> None:
        missing = [n for n in (*TRAIN, *DEV) if corpora.find_file(tmp_dir, n) is None]
        if not Path(data_dir, VOCABULARY).is_file() and not Path(tmp_dir, VOCABULARY).is_file():
            missing.append(VOCABULARY)
        if not missing:
            return
        archive = Path(tmp_dir, ARCHIVE)
        if not archive.is_file():
            raise UserError(
                f"problem {self.name} needs {', '.join(missing)} in --tmp_dir {tmp_dir}, or the"
                f" archive {ARCHIVE} that holds them; its public place was {DRIVE}, which does"
                " not serve it to programs: fetch it with a browser and put it there"
            )
        download.verify(str(archive))
        download.unpack(str(archive), missing, tmp_dir)

    def get_or_create_vocab(self, data_dir: str, tmp_dir: str) -> None:
        """Writes the archive's vocabulary with the reserved entries in front and `UNK` behind.

        So T2T did from 1.3.0 on; before, real tokens had the ids of padding and EOS.
        """
        target = Path(data_dir, VOCABULARY)
        if target.is_file():
            return
        tokens = [line.strip() for line in read_lines(Path(tmp_dir, VOCABULARY))]
        write_lines(target, ["<pad>", "<EOS>", *tokens, self.oov_token])
