"""The options --seed and --seeds of the benchmarks."""

from __future__ import annotations

MOST_SEEDS = 100_000


def parse_seeds(seed: int | None, seeds: str) -> tuple[int, ...]:
    """Return the seeds that --seed and --seeds name; empty for the world's own.

    Raises:
        ValueError: if --seeds is neither a number nor a list of numbers.
    """
    try:
        numbers = tuple(int(text) for text in seeds.split(",") if text.strip())
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < (1 if len(numbers) == 1 and "," not in seeds else 0):
        raise ValueError(f"--seeds takes a number of seeds or a list like 42,84, not {seeds!r}")
    if "," in seeds:
        return tuple(dict.fromkeys(numbers))
    if numbers[0] > MOST_SEEDS:
        raise ValueError(f"--seeds takes at most {MOST_SEEDS} seeds, not {seeds}")
    if seed is None and numbers == (1,):
        return ()
    return tuple(range(seed or 0, (seed or 0) + numbers[0]))
