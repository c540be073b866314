"""Experience for planners of benchmarks, from a file: a bank, or episodes as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.memory.episode_files import read_episodes
from graph_planner_ros.memory.experience import Episode, SceneEncoder
from graph_planner_ros.planning.advice import Experience


def open_experience(domain: Domain, path: Path) -> Experience:
    """Return what a file knows, read-only.

    Args:
        domain: of the plans that it is to advise.
        path: a bank of ``graph-planner memory``, or ``.jsonl``, ``.jsonl.gz``.

    Raises:
        FileNotFoundError: there is no such file. ValueError: it holds something else, or is of another domain.
        EncoderMissingError: scenes cannot be compared, because something is not installed.
    """
    from graph_planner_ros.memory.bank import ExperienceBank
    from graph_planner_ros.memory.encoder import load_encoder
    from graph_planner_ros.memory.retrieval import Retriever

    if path.suffix == ".jsonl" or path.name.endswith(".jsonl.gz"):
        return experience_of(domain, read_episodes(path))
    encoder = load_encoder()
    return Retriever(domain, ExperienceBank.open(path, domain, encoder, read_only=True), encoder)


def experience_of(domain: Domain, episodes: Iterable[Episode], encoder: SceneEncoder | None = None) -> Experience:
    """Return what episodes say, kept in memory; those of other domains are left out.

    Args:
        domain: of the plans. episodes: to remember. encoder: compares scenes; the shipped one if left out.

    Raises:
        EncoderMissingError: scenes cannot be compared, because something is not installed.
    """
    from graph_planner_ros.memory.encoder import load_encoder
    from graph_planner_ros.memory.exact_bank import ExactBank
    from graph_planner_ros.memory.retrieval import Retriever

    encoder = encoder or load_encoder()
    ours = (episode for episode in episodes if episode.header.domain == domain.name)
    return Retriever(domain, ExactBank(ours, encoder), encoder)
