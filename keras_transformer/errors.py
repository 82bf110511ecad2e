"""The one exception for what a user can cause.

Every package may import this module; it imports nothing.
"""

from __future__ import annotations


class UserError(ValueError):
    """A mistake in what the user gave: a flag, a file, a name, a value.

    The message is one sentence or a short list and names the thing, its value, the rule it
    breaks and the way out. Programs print it without a traceback and end with status 2.
    """
