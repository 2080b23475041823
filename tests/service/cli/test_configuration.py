"""The configuration file of `serve`: the example is one, and lists are taken for options that may be repeated."""

from pathlib import Path

import pytest

from tableveil.cli.configuration import read_configuration
from tableveil.cli.serve import serve
from tableveil.errors import InvalidError

EXAMPLE = Path(__file__).parents[3] / "deploy" / "systemd" / "config.toml"


def test_the_example() -> None:
    options = read_configuration(EXAMPLE, serve)
    assert {"database", "address", "backup_directory", "load_directory", "log_format"} <= options.keys()


@pytest.mark.parametrize("value", ['"/data"', "[1]", "[['/data']]", "true"])
def test_what_is_no_list_of_texts(tmp_path: Path, value: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"load_directory = {value}\n")
    with pytest.raises(InvalidError) as raised:
        read_configuration(config, serve)
    (fault,) = raised.value.faults
    assert (fault.field, fault.expected) == ("load_directory", "a list of texts")
