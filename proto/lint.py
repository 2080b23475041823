"""Lints the protos with buf, as `buf.yaml` says, and holds them against their baseline: `python proto/lint.py`.

`python proto/lint.py --baseline` makes the protos of now the baseline, which is done with a version: what clients were
given stays.
"""

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

from generate import PATHS, PROTO, protos

BASELINE = PROTO / "baseline.binpb.gz"


def compiled(image: Path, *options: str) -> Path:
    """The compiled protos; buf itself would look for google/api in the network."""
    command = [sys.executable, "-m", "grpc_tools.protoc", *PATHS, "--include_imports", *options]
    subprocess.run([*command, f"--descriptor_set_out={image}", *protos()], check=True)
    return image


def keep() -> None:
    """Writes the baseline, without comments."""
    with tempfile.TemporaryDirectory() as folder:
        BASELINE.write_bytes(gzip.compress(compiled(Path(folder, "image.binpb")).read_bytes(), mtime=0))


def lint() -> int:
    """Returns buf's exit code: of the lint if it finds something, else of the comparison with the baseline."""
    buf = Path(sys.executable).with_name("buf")
    with tempfile.TemporaryDirectory() as folder:
        image = compiled(Path(folder, "image.binpb"), "--include_source_info")
        checks: tuple[list[str | Path], ...] = (["lint", image], ["breaking", image, "--against", BASELINE])
        codes = (
            subprocess.run([buf, *check, "--config", PROTO / "buf.yaml"], check=False).returncode for check in checks
        )
        return next(filter(None, codes), 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--baseline"]:
        keep()
    else:
        sys.exit(lint())
