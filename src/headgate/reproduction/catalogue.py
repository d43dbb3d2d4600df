"""The experiments of a folder: `experiments/<document>/*.py`, every module there that has an `EXPERIMENT`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from headgate.model import HeadgateError
from headgate.reproduction.experiment import Document, Experiment


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Documents and their experiments, as they are in a folder; workload files are beside it."""

    folder: Path
    documents: Sequence[Document]
    experiments: Sequence[Experiment]

    @property
    def workloads(self) -> Path:
        return self.folder.parent / "workloads"

    def chosen(self, document: str | None, ids: Sequence[str] = ()) -> list[Experiment]:
        """All experiments, those of a document, or some of a document's by their ids, in any case."""
        if document is None:
            return list(self.experiments)
        names = [each.name for each in self.documents]
        if document.lower() not in names:
            raise _unknown("document", document, names)
        own = {each.id.lower(): each for each in self.experiments if each.document == document.lower()}
        for wanted in ids:
            if wanted.lower() not in own:
                raise _unknown(f"result of {document}", wanted, [each.id for each in own.values()])
        return [own[wanted.lower()] for wanted in dict.fromkeys(ids)] if ids else list(own.values())

    def document(self, name: str) -> Document:
        return next(each for each in self.documents if each.name == name)


def _unknown(what: str, name: str, known: Sequence[str]) -> HeadgateError:
    """All names and not only the nearest: there are few, and nobody knows by heart which figures there are."""
    return HeadgateError(f"unknown {what} '{name}'", hint=f"known: {', '.join(known)}")


def own_folder() -> Path:
    """The experiments of the checkout that this package runs from; an installed package has none."""
    folder = Path(__file__).parents[3] / "experiments"
    if not (folder / "__init__.py").is_file():
        hint = "name the folder of a checkout with --experiments DIR"
        raise HeadgateError("the experiments are not part of the installed package", hint=hint)
    return folder


def read_catalogue(folder: Path) -> Catalogue:
    """Import the experiments of a folder, documents and files by name."""
    folder = folder.resolve()
    if not (folder / "__init__.py").is_file():
        hint = "name the folder experiments/ of a checkout"
        raise HeadgateError(f"--experiments: '{folder.name}' has no experiments", hint=hint)
    if str(folder.parent) not in sys.path:
        sys.path.insert(0, str(folder.parent))
    documents: list[Document] = []
    experiments: list[Experiment] = []
    for package in sorted(path.parent for path in folder.glob("*/__init__.py")):
        found = _experiments(package)
        if found:
            documents.append(_document(package))
            experiments += found
    return Catalogue(folder, documents, experiments)


def _document(package: Path) -> Document:
    found = getattr(import_module(_module(package)), "DOCUMENT", None)
    if not isinstance(found, Document) or found.name != package.name:
        hint = f'write DOCUMENT = Document("{package.name}", "its title")'
        raise HeadgateError(f"{package.name}/__init__.py does not name its document", hint=hint)
    return found


def _experiments(package: Path) -> list[Experiment]:
    found: dict[str, Experiment] = {}
    for path in sorted(package.glob("*.py")):
        if path.stem == "__init__":
            continue
        experiment = getattr(import_module(f"{_module(package)}.{path.stem}"), "EXPERIMENT", None)
        if experiment is None:
            continue  # what several experiments share
        where = f"{package.name}/{path.name}"
        if not isinstance(experiment, Experiment) or experiment.document != package.name:
            hint = f'write EXPERIMENT = Experiment(document="{package.name}", …)'
            raise HeadgateError("EXPERIMENT is not one of this document", where=where, hint=hint)
        if experiment.id.lower() in found:
            raise HeadgateError(f"there are two experiments '{experiment.id}'", where=where, hint="name one otherwise")
        found[experiment.id.lower()] = experiment
    return sorted(found.values(), key=lambda each: _in_numbers(each.id))


def _in_numbers(text: str) -> list[tuple[int, str]]:
    """What sorts 4.12 behind 4.4."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]


def _module(package: Path) -> str:
    return f"{package.parent.name}.{package.name}"
