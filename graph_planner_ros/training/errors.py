"""What may be wrong with a training, in one sentence for the person who started it."""

from __future__ import annotations

EXTRA = "training a language model needs the extra llm_training ({error}): ./run extra llm_training installs it"


class TrainingError(ValueError):
    """Data, settings or a run that cannot be used; the message names the thing and what was expected."""


class ExtraMissingError(RuntimeError):
    """Something that only training needs is not installed."""

    def __init__(self, error: object) -> None:
        super().__init__(EXTRA.format(error=error))
