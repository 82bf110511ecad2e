"""One target position after the other: the interface that decoding is written against.

Shapes: B sentences, S source positions, d model width, H heads, V vocabulary entries of the
target, K beams, L target positions decoded so far. Ids are int32, 0 is padding.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_transformer.errors import UserError
from keras_transformer.layers.ready_weights import ready_weights
from keras_transformer.model.decoder import Cache
from keras_transformer.model.forward_pass import ForwardPass, as_tensor, without_autograph


class IncrementalDecoding(ForwardPass):
    """The parts of `ForwardPass` a step at a time, with a cache of keys and values."""

    # Positions to each side that self-attention sees; 0: all.
    neighbourhood: int
    _decode_functions: dict[Any, Callable[..., Any]]

    @without_autograph
    def start_decoding(self, inputs: Any, target_space_id: Any = None) -> Cache:
        """Runs the encoder once and prepares what `decode_step` needs.

        Args:
          inputs: int [B, S].
          target_space_id: int, one or [B]; None for the model's own.

        Returns:
          {"memory": keys and values of the source for each decoder layer, [B, H, S, …], and the
          bias that hides its padding, [B, 1, 1, S]; never repeated for the beams.
          "self": keys and values of the target so far, [B, 1, H, 0, …]: no position yet, and one
          beam, which `decode_step` takes for any number of them.}
        """
        features = {"inputs": as_tensor(inputs)}
        if target_space_id is not None:
            features["target_space_id"] = as_tensor(target_space_id)
        memory, memory_bias, _ = self._encode(features, training=False)
        return self.decoder.start(memory, memory_bias)

    @without_autograph
    def decode_step(self, ids: tf.Tensor, step: tf.Tensor, cache: Cache) -> tuple[tf.Tensor, Cache]:
        """Logits of position `step` of each beam, given the ids before it.

        Args:
          ids: int32 [B, K], the symbol at position step - 1; 0 at step 0.
          step: int32 scalar, from 0.
          cache: of the steps before; beams are reordered along axis 1 of all in "self".

        Returns:
          float32 [B, K, V], and the cache with one position more in "self".
        """
        x = self._embedding("targets")(ids)
        if self.positions != "none":
            x = self.targets_positions(x, positions=tf.reshape(step, [1]))
        if self.neighbourhood:
            near = tf.nest.map_structure(
                lambda past: past[:, :, :, -self.neighbourhood :], cache["self"]
            )
            cache = {**cache, "self": near}
        x, cache = self.decoder.step(x, cache)
        return self._softmax().logits(x), cache

    @without_autograph
    def step_weights(self) -> dict[str, tf.Tensor]:
        """The weights of `decode_step`, cast and laid out for it as they are now."""
        return {**self.decoder.step_weights(), **self._softmax().step_weights()}

    @without_autograph
    def step_function(
        self, weights: dict[str, tf.Tensor] | None = None
    ) -> Callable[..., tuple[tf.Tensor, Cache]]:
        """`decode_step` with its weights made ready once, not at every step.

        To be made outside the decoding loop, in the function that holds it: a fifth of the time
        of decoding one sentence in float32, a third in bfloat16.

        Args:
          weights: what `step_weights` gave before, for a model that does not change; None makes
            them anew whenever that function is run.
        """
        weights = self.step_weights() if weights is None else weights

        def step_fn(ids: tf.Tensor, step: tf.Tensor, cache: Cache) -> tuple[tf.Tensor, Cache]:
            with ready_weights(weights):
                return self.decode_step(ids, step, cache)

        return step_fn

    def decode(
        self,
        inputs: Any,
        beam_size: int = 4,
        alpha: float = 0.6,
        decode_length: Any = 60,
        top_beams: int | None = None,
        target_space_id: Any = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The best targets of each source by beam search, or the greedy one.

        Args:
          inputs: int [B, S].
          beam_size: K; 1 takes T2T's greedy path (argmax, alpha unused).
          alpha: strength of the length penalty.
          decode_length: the most steps, in subtokens, one number or int [B].
          top_beams: how many to return for each sentence, at most `beam_size`; all of them if
            None. The search may stop sooner when it is 1.
          target_space_id: int, one or [B]; None for the model's own.

        Returns:
          ids int32 [B, top_beams, L], zeros after the end of sentence (1), best first, and
          scores float32 [B, top_beams].
        """
        top_beams = beam_size if top_beams is None else top_beams
        key = (beam_size, top_beams)
        if key not in self._decode_functions:
            self._decode_functions[key] = tf.function(
                functools.partial(self._decode, beam_size=beam_size, top_beams=top_beams),
                autograph=False,
                reduce_retracing=True,
            )
        inputs = tf.cast(as_tensor(inputs), tf.int32)
        if inputs.shape.rank != 2:
            raise UserError(
                f"inputs has the shape {tuple(inputs.shape)}: it must be [sentences, positions]"
            )
        batch = tf.shape(inputs)[0]
        space = self.target_space_id if target_space_id is None else target_space_id
        return self._decode_functions[key](
            inputs,
            tf.broadcast_to(tf.cast(space, tf.int32), [batch]),
            tf.broadcast_to(tf.cast(decode_length, tf.int32), [batch]),
            tf.constant(alpha, tf.float32),
        )

    def _decode(
        self,
        inputs: tf.Tensor,
        target_space_id: tf.Tensor,
        decode_length: tf.Tensor,
        alpha: tf.Tensor,
        beam_size: int,
        top_beams: int,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        # Decoding is written against this class's interface, so it is not imported with it.
        from keras_transformer.decoding import beam_search, sampling

        cache = self.start_decoding(inputs, target_space_id)
        step, batch = self.step_function(), tf.shape(inputs)[0]
        if beam_size == 1:
            return sampling.greedy(step, cache, batch, decode_length)
        return beam_search.beam_search(
            step, cache, batch, beam_size, alpha, decode_length, top_beams
        )
