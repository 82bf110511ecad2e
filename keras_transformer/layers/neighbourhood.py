"""Restricted self-attention in blocks (paper, end of section 4): time and memory grow as r · n.

A sequence is cut into blocks of equal length. The queries of a block can only look into its window:
the block itself and `reach` positions to each side. Blocks become rows of the batch, so attention
over [B · blocks, block] queries and [B · blocks, window] keys is the restricted attention, and no
array of n · n numbers is ever made. A sequence no longer than a block is one block without sides:
plain attention.

Shapes: B sequences, n positions, b blocks of w positions, W positions of a window.
"""

from __future__ import annotations

import dataclasses

import tensorflow as tf

# Shorter blocks than this have more sides than inside, and products too small to be fast.
SHORTEST_BLOCK = 64


@dataclasses.dataclass(frozen=True)
class Neighbourhood:
    """How far self-attention sees.

    Args:
      reach: positions to each side of the own one that are seen, r, 1 or more.
      causal: whether only those before it are.
      shortest_block: a block has this many positions, or `reach` of them if that is more.
    """

    reach: int
    causal: bool = False
    shortest_block: int = SHORTEST_BLOCK

    def blocks(self, x: tf.Tensor) -> tf.Tensor:
        """[B, n, …] to [B · b, w, …]; the last block is filled up with zeros."""
        x = self._cut(x)
        return _merge(x)

    def windows(self, x: tf.Tensor) -> tf.Tensor:
        """[B, n, …] to [B · b, W, …]: each block with its sides; zeros outside the sequence."""
        x = self._cut(x)
        before, after = self._sides(tf.shape(x)[1])
        rest = [[0, 0]] * (x.shape.rank - 2)
        width = tf.shape(x)[2]
        parts = [tf.pad(x[:, :-1, width - before :], [[0, 0], [1, 0], *rest]), x]
        if not self.causal:
            parts.append(tf.pad(x[:, 1:, :after], [[0, 0], [0, 1], *rest]))
        return _merge(tf.concat(parts, axis=2))

    def sequence(self, blocks: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        """[B · b, w, …] back to [B, n, …]; `length` is n."""
        count, _ = self._count_and_width(length)
        shape = tf.shape(blocks)
        joined = tf.concat([[shape[0] // count, count * shape[1]], shape[2:]], axis=0)
        return tf.reshape(blocks, joined)[:, :length]

    def is_seen(self, length: tf.Tensor) -> tf.Tensor:
        """bool [b, w, W]: whether a position of a block sees a position of its window."""
        looking, looked_at = self._positions(length)
        distance = looked_at[:, tf.newaxis, :] - looking[:, :, tf.newaxis]
        inside = (looked_at >= 0) & (looked_at < length)
        near = (distance >= -self.reach) & (distance <= (0 if self.causal else self.reach))
        return near & inside[:, tf.newaxis, :]

    def square(self, weights: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        """Weights of blocks, [B · b, H, w, W], as [B, H, n, n], 0 out of reach.

        For looking at: it takes the n · n numbers that blocks avoid.
        """
        looking, looked_at = self._positions(length)
        # A column more takes what lies outside the sequence.
        outside = (looked_at < 0) | (looked_at >= length)
        place = tf.one_hot(tf.where(outside, length, looked_at), length + 1, dtype=weights.dtype)
        shape, count = tf.shape(weights), tf.shape(looking)[0]
        weights = tf.reshape(weights, [shape[0] // count, count, shape[1], shape[2], shape[3]])
        rows = tf.einsum("Bbhqk,bkn->Bhbqn", weights, place)
        rows = tf.reshape(rows, [shape[0] // count, shape[1], count * shape[2], length + 1])
        return rows[:, :, :length, :length]

    def _count_and_width(self, length: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """b and w."""
        width = tf.maximum(tf.minimum(max(self.shortest_block, self.reach), length), 1)
        return tf.maximum((length + width - 1) // width, 1), width

    def _sides(self, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Positions of a window before and after its block; a single block has none."""
        side = tf.where(count > 1, self.reach, 0)
        return side, tf.zeros_like(side) if self.causal else side

    def _cut(self, x: tf.Tensor) -> tf.Tensor:
        """[B, n, …] to [B, b, w, …]."""
        shape = tf.shape(x)
        count, width = self._count_and_width(shape[1])
        rest = [[0, 0]] * (x.shape.rank - 2)
        x = tf.pad(x, [[0, 0], [0, count * width - shape[1]], *rest])
        cut = tf.reshape(x, tf.concat([[shape[0], count, width], shape[2:]], axis=0))
        return tf.ensure_shape(cut, [None, None, None, *x.shape[2:]])

    def _positions(self, length: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Places in the sequence of the blocks' positions [b, w] and of the windows' [b, W]."""
        count, width = self._count_and_width(length)
        before, after = self._sides(count)
        starts = width * tf.range(count)[:, tf.newaxis]
        return starts + tf.range(width), starts + tf.range(-before, width + after)


def _merge(x: tf.Tensor) -> tf.Tensor:
    """[B, b, w, …] to [B · b, w, …]."""
    shape = tf.shape(x)
    merged = tf.reshape(x, tf.concat([[shape[0] * shape[1]], shape[2:]], axis=0))
    return tf.ensure_shape(merged, [None, None, *x.shape[3:]])
