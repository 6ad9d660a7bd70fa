"""Suites that are Python modules. Loading one runs it, so it is only done for a file that was named as trusted."""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from pathlib import Path

from steelyard.errors import InputError, StandardError, SteelyardError
from steelyard.model.standard import Suite
from steelyard.standards.build import suite_of


def load_module(path: Path) -> Suite:
    """The suite that the module's name `suite` holds: a `Suite`, or the mapping that a file would hold."""
    if not path.is_file():
        raise InputError(f"{path}: does not exist, or is not a file")
    try:
        names = runpy.run_path(str(path))
    except SteelyardError:
        raise
    except (Exception, SystemExit) as error:
        raise StandardError([f"{path}: raised {type(error).__name__}: {error}"]) from error
    found = names.get("suite")
    if isinstance(found, Suite):
        return found
    if isinstance(found, Mapping):
        return suite_of(found, name=str(path), folder=str(path.parent))
    raise StandardError([f"{path}: sets no `suite`; assign one made by steelyard.standards.build.suite(...)"])
