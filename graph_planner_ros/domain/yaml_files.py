"""YAML that people write: read, or refused in words that name the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from graph_planner_ros.domain.json_files import read_text


def read_yaml(path: Path, wrong: type[ValueError] = ValueError) -> Any:
    """Return the content of a YAML file as plain values; what shape it has is the caller's to check.

    Raises:
        wrong: naming the file, if it cannot be read or is no YAML.
    """
    text = read_text(path, wrong)
    try:
        return yaml.safe_load(text)
    except RecursionError:
        raise wrong(f"{path}: not YAML: brackets within brackets too deep to read") from None
    except (yaml.YAMLError, ValueError) as error:  # dates and numbers that there cannot be are plain ValueErrors
        raise wrong(f"{path}: not YAML: {error}") from error
