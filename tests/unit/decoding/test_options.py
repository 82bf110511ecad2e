from __future__ import annotations

import pytest

from keras_transformer.decoding.lengths import decode_lengths
from keras_transformer.decoding.options import DecodeOptions, parse_decode_hparams
from keras_transformer.errors import UserError


def test_defaults_are_the_papers():
    options = DecodeOptions()
    assert (options.beam_size, options.alpha, options.extra_length) == (4, 0.6, 50)
    assert options.length_limit == "sentence"


def test_decode_hparams_of_t2t():
    parsed = parse_decode_hparams(
        "beam_size=5, alpha=0.3,return_beams=True,write_beam_scores=true,batch_size=0,"
        "sampling_temp=0.5,log_results=False,force_decode_length=False,num_samples=7"
    )
    assert parsed.options == DecodeOptions(beam_size=5, alpha=0.3, n_best=5, temperature=0.5)
    assert parsed.return_beams and parsed.write_beam_scores and parsed.num_samples == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("beam_size", "'beam_size' is not of the form name=value"),
        ("beamsize=4", "there is no 'beamsize'; did you mean 'beam_size'"),
        ("alpha=high", "alpha is 'high': it must be a number"),
        ("return_beams=maybe", "return_beams is 'maybe': it must be True or False"),
        ("force_decode_length=True", "force_decode_length=True is not offered"),
        ("beam_size=0", "beam_size is 0: it must be at least 1"),
        ("alpha=-1", "alpha is -1.0: it must be at least 0"),
        ("alpha=nan", "alpha is nan: it must be at least 0"),
        ("n_best=9", "n_best is 9, beam_size is 4"),
        ("temperature=0", "temperature is 0.0: it must be above 0"),
        ("max_input_size=1", "max_input_size is 1: give at least 2"),
        ("min_length=51", "min_length is 51, extra_length is 50: outputs of short sentences"),
        ("ending_rule=marian", "ending_rule is 'marian': give one of tensor2tensor, ctranslate2"),
        ("constrain=True,min_length=3", "min_length is 3, and outputs are held to a grammar"),
        ("length_limit=word", "length_limit is 'word': give one of sentence, batch"),
        ("extra_length=99999999999", "extra_length is 99999999999: no number may be above"),
        ("seed=-9999999999", "seed is -9999999999: no number may be"),
        ("shards=2,shard_id=2", "shards=2, shard_id=2.*shard_id must be below shards"),
        ("shards=0", "shards=0, shard_id=0"),
        ("shards=2,shards_start_offset=-1", "the offset not below 0"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(UserError, match=message):
        parse_decode_hparams(text)


@pytest.mark.parametrize(
    ("limit", "most", "expected"),
    [
        ("sentence", None, [13, 17, 11]),
        ("batch", None, [17, 17, 17]),
        ("sentence", 12, [12, 12, 11]),
        ("batch", 12, [12, 12, 12]),
    ],
)
def test_limits(limit, most, expected):
    assert decode_lengths([3, 7, 1], 10, limit, most) == expected


def test_no_sentences_and_bad_limits():
    assert decode_lengths([]) == []
    with pytest.raises(UserError, match="extra_length is -1"):
        decode_lengths([3], -1)
    with pytest.raises(UserError, match="give one of sentence, batch"):
        decode_lengths([3], 10, "word")
