"""Kustomizations as `kubectl kustomize` renders them, for the few features that deploy/ uses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]


def rendered(directory: Path) -> Iterator[Manifest]:
    """All manifests, generated ones under the names that others call them by: without a hash."""
    kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
    understood = {"apiVersion", "kind", "resources", "configMapGenerator", "generatorOptions"}
    assert kustomization.keys() <= understood
    for resource in kustomization.get("resources", []):
        if (directory / resource).is_dir():
            yield from rendered(directory / resource)
        else:
            yield from yaml.safe_load_all((directory / resource).read_text())
    for generator in kustomization.get("configMapGenerator", []):
        data = {name: (directory / name).read_text() for name in generator["files"]}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": generator["name"]}, "data": data}
