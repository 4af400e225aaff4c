"""Fetches the JavaScript libraries of the dashboard from npm into python/resonate_core/ui/modules/vendor.

The pins are in vendor/pins.json: package, version, licence, the integrity that npm published for it, and the files that are taken,
each with its SHA-256. A package whose integrity differs is refused and nothing is written. Files are written as they were published.

    scripts/vendor            fetches and writes
    scripts/vendor --check    fetches, and fails if a vendored file is not the published one
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "python" / "resonate_core" / "ui" / "modules" / "vendor"
PINS = FOLDER / "pins.json"


def packed(name: str, version: str, integrity: str, work: Path) -> tarfile.TarFile:
    """Downloads one package with npm and compares its integrity."""
    done = subprocess.run(
        ["npm", "pack", f"{name}@{version}", "--json", "--pack-destination", str(work)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"npm pack {name}@{version} failed:\n{done.stderr}")
    archive = work / str(json.loads(done.stdout)[0]["filename"]).replace("@", "").replace("/", "-")
    kind, _, expected = integrity.partition("-")
    found = base64.b64encode(hashlib.new(kind, archive.read_bytes()).digest()).decode()
    if found != expected:
        sys.exit(f"integrity of {name}@{version} must be {integrity}, got {kind}-{found}")
    return tarfile.open(archive)


def published(pins: list[dict[str, object]], work: Path) -> dict[str, bytes]:
    """Returns the files of all pinned packages, by the name that they have in the folder."""
    files: dict[str, bytes] = {}
    for pin in pins:
        with packed(str(pin["package"]), str(pin["version"]), str(pin["integrity"]), work) as archive:
            for taken in pin["files"]:  # type: ignore[attr-defined]
                member = archive.extractfile(f"package/{taken['from']}")
                if member is None:
                    sys.exit(f"{pin['package']}@{pin['version']} has no file {taken['from']}")
                content = member.read()
                found = hashlib.sha256(content).hexdigest()
                if found != taken["sha256"]:
                    sys.exit(f"sha256 of {taken['from']} must be {taken['sha256']}, got {found}")
                files[taken["to"]] = content
    return files


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    check = parser.parse_args().check
    pins = json.loads(PINS.read_text())
    with tempfile.TemporaryDirectory() as work:
        files = published(pins, Path(work))
    for name, content in files.items():
        path = FOLDER / name
        if path.exists() and path.read_bytes() == content:
            continue
        if check:
            sys.exit(f"{path.relative_to(ROOT)} is not the published file: run scripts/vendor")
        path.write_bytes(content)
        print(f"wrote {path.relative_to(ROOT)}")
    stale = {path.name for path in FOLDER.iterdir()} - {*files, PINS.name}
    if stale:
        sys.exit(f"no pin has these files of {FOLDER.relative_to(ROOT)}: {', '.join(sorted(stale))}")


if __name__ == "__main__":
    main()
