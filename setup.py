"""For ``pip install``: the same package as package.xml describes, read from there."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from setuptools import find_namespace_packages, setup

ROOT = Path(__file__).parent
MANIFEST = ElementTree.parse(ROOT / "package.xml").getroot()


def text(tag: str) -> str:
    """Return the text of a tag of package.xml."""
    return " ".join((MANIFEST.findtext(tag) or "").split())


def requirements(name: str) -> list[str]:
    """Return the entries of requirements/<name>.txt."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def data_files() -> list[tuple[str, list[str]]]:
    """Return launch and config files with where they go."""
    share = Path("share") / text("name")
    files: dict[str, list[str]] = {str(share): ["package.xml"]}
    for folder in ("launch", "config"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                relative = path.relative_to(ROOT)
                files.setdefault(str(share / relative.parent), []).append(str(relative))
    return list(files.items())


maintainer = MANIFEST.find("maintainer")
setup(
    name=text("name"),
    version=text("version"),
    description=text("description"),
    license=text("license"),
    maintainer=(maintainer.text or "") if maintainer is not None else "",
    maintainer_email=maintainer.get("email", "") if maintainer is not None else "",
    python_requires=">=3.10",
    packages=find_namespace_packages(include=[f"{text('name')}*"]),
    data_files=data_files(),
    install_requires=requirements("core"),
    package_data={"graph_planner_ros.benchmarks.worlds": ["prompts/*.txt"]},
    extras_require={
        name: requirements(name) for name in ("planners", "llm", "transformers", "training", "llm_training")
    },
    entry_points={"console_scripts": ["graph-planner = graph_planner_ros.cli:main"]},
)
