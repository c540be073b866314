"""The trained interface: training, its file, and loading it behind the same two protocols as the rules.

The file is JSON with a header: the command that made it, hashes of data and domain, the seed. What does not fit is
refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.domain import DESCRIPTION_FILE, DOMAIN_FILE, Domain, load_domain
from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.domain.json_files import NO_SUCH_SHAPE, what_is_wrong
from graph_planner_ros.language.pairs import PairFile
from graph_planner_ros.language.rules import Language, load_language
from graph_planner_ros.language.trained_grounder import GrounderModel, TrainedGrounder, train_grounder
from graph_planner_ros.language.trained_parser import ParserModel, TrainedParser
from graph_planner_ros.language.trained_training import train_parser

FORMAT = 1


class ModelFileError(ValueError):
    """A model that cannot be used; the message names the file and what does not fit."""


@dataclass(frozen=True)
class ModelHeader:
    """Where a model comes from.

    Attributes:
        world: of the pairs. domain: hash of the domain's files. data: hash of the pairs. seed: of the training.
        command: that made it. groups: task types that were learned from. facts, commands: pairs that were learned from.
        games: how many they come from.
    """

    world: str
    domain: str
    data: str
    seed: int = 0
    command: str = ""
    groups: tuple[str, ...] = ()
    facts: int = 0
    commands: int = 0
    games: int = 0
    format: int = FORMAT


@dataclass
class TrainedModel:
    """Both directions."""

    header: ModelHeader
    parser: ParserModel
    grounder: GrounderModel
    extra: dict[str, Any] = field(default_factory=dict)

    def language(self, domain: Domain) -> Language:
        """Return parser and grounder; goals are read by the rules of the domain's language file."""
        rules = load_language(domain)
        return Language(
            domain, TrainedParser(domain, self.parser, rules.parser), TrainedGrounder(domain, self.grounder)
        )


def domain_hash(domain: Domain) -> str:
    """Return the hash of a domain's two files, 16 digits."""
    digest = hashlib.sha256()
    for name in (DOMAIN_FILE, DESCRIPTION_FILE):
        digest.update((domain.folder / name).read_bytes())
    return digest.hexdigest()[:16]


def train(domain: Domain, pairs: PairFile, *, data: str = "", seed: int = 0, command: str = "") -> TrainedModel:
    """Train both directions; the same pairs and seed give the same model.

    Raises:
        ValueError: there are no pairs to learn one of the directions from.
    """
    parser = train_parser(domain, pairs.facts, seed)
    grounder = train_grounder(domain, parser.names, pairs.commands, pairs.facts, seed)
    header = ModelHeader(
        world=domain.name,
        domain=domain_hash(domain),
        data=data,
        seed=seed,
        command=command,
        groups=pairs.groups,
        facts=len(pairs.facts),
        commands=len(pairs.commands),
        games=len(pairs.games),
    )
    return TrainedModel(header, parser, grounder)


def save_model(path: Path, model: TrainedModel) -> None:
    """Write a model to a file."""
    content = {"header": asdict(model.header), "parser": model.parser.plain(), "grounder": model.grounder.plain()}
    write_atomically(path, json.dumps(content, separators=(",", ":")) + "\n")


def load_model(path: Path, domain: Domain) -> TrainedModel:
    """Read a model.

    Raises:
        FileNotFoundError: there is none.
        ModelFileError: it is none, or it was trained for another domain, or another version of it.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        header = _header(plain["header"])
    except NO_SUCH_SHAPE as error:
        raise ModelFileError(f"{path}: {what_is_wrong(error, 'a trained language model')}") from error
    if header.format != FORMAT:
        raise ModelFileError(f"{path} has the format {header.format}, this version reads {FORMAT}: train it again")
    if header.domain != domain_hash(domain):
        raise ModelFileError(
            f"{path} was trained for the domain {header.world} with the hash {header.domain}; {domain.folder} is "
            f"{domain.name} with {domain_hash(domain)}: train it again"
        )
    try:
        parser = ParserModel.from_plain(plain["parser"])
        return TrainedModel(header, parser, GrounderModel.from_plain(plain["grounder"], parser.names))
    except NO_SUCH_SHAPE as error:
        raise ModelFileError(f"{path} is damaged: {what_is_wrong(error, 'a trained language model')}") from error


def load_trained_language(domain_or_folder: Domain | str | Path, model: Path) -> Language:
    """Load a trained interface, see `load_language`.

    Raises:
        FileNotFoundError, ModelFileError, DomainError: naming what is missing or wrong.
    """
    domain = domain_or_folder if isinstance(domain_or_folder, Domain) else load_domain(domain_or_folder)
    return load_model(model, domain).language(domain)


def _header(plain: Mapping[str, Any]) -> ModelHeader:
    return ModelHeader(**{**plain, "groups": tuple(plain["groups"])})
