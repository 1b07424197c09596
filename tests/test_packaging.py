"""The release: the list of packages, the built wheel, and an installation of the wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

with (ROOT / "pyproject.toml").open("rb") as _file:
    PROJECT = tomllib.load(_file)


def test_the_package_list_names_every_folder() -> None:
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "irloop").rglob("__init__.py")
    }
    expected = folders | {"irloop.schemas", "irloop_cli"}
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == expected


def test_cli_has_no_subpackages() -> None:
    """pyproject.toml lists only the folder cli itself as a package."""
    assert not [path for path in (ROOT / "cli").rglob("__init__.py") if path.parent.name != "cli"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the sources, so that nothing is left in the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout: the list of sources is not known")
    for name in filter(None, listed.stdout.decode().split("\0")):
        original = ROOT / name
        if original.is_file() and not name.startswith("tests/"):
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(original.read_bytes())
    _run([sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(folder), str(source)])
    (built,) = folder.glob("*.whl")
    return built


def _run(command: list[str], cwd: Path | None = None) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command,
        capture_output=True,
        check=False,
        text=True,
        timeout=900,
        cwd=cwd,
        env=environment,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_the_wheel_contains_the_right_files_and_no_others(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    version = PROJECT["project"]["version"]
    assert {name.split("/")[0] for name in names} == {
        "irloop",
        "irloop_cli",
        f"irloop-{version}.dist-info",
    }
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "irloop").rglob("*.py")}
    modules |= {f"irloop_cli/{path.name}" for path in (ROOT / "cli").glob("*.py")}
    modules |= {"irloop/schemas/__init__.py"}
    assert {name for name in names if name.endswith(".py")} == modules
    schemas = {f"irloop/schemas/{path.name}" for path in (ROOT / "schemas").glob("*.xsd")}
    assert schemas <= names
    pages = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "irloop" / "pages" / "assets").iterdir()
    }
    assert pages <= names
    assert {"irloop/py.typed", f"irloop-{version}.dist-info/licenses/LICENSE"} <= names


@pytest.mark.slow
def test_the_description_of_the_package_works_outside_the_repository(wheel: Path) -> None:
    version = PROJECT["project"]["version"]
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"irloop-{version}.dist-info/METADATA").decode("utf-8")
    head, _, description = text.partition("\n\n")
    for field in ("Author", "Keywords", "Project-URL: Documentation", "Project-URL: Issues"):
        assert f"\n{field}" in head, field
    assert "Classifier: Operating System :: Microsoft :: Windows" in head
    links = re.findall(r"\]\(([^)]+)\)", description)
    assert len(links) > 5
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


@pytest.mark.slow
def test_an_installed_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    # The dependencies come from the interpreter that runs the tests; only irloop is installed.
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False, symlinks=os.name != "nt")
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    _run([*pip, "install", "-q", "--no-deps", str(wheel)])
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(_run([str(python), "-c", where]).strip())
    installed = {path.name for path in site.iterdir()}
    assert {"irloop", "irloop_cli"} <= installed
    assert not installed & {"cli", "schemas", "tests", "benchmarks"}
    paths = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    loaded = _run([str(python), "-c", "import irloop; print(irloop.__file__)"], tmp_path)
    assert Path(loaded.strip()).is_relative_to(environment)
    command = [str(scripts / "irloop")]
    assert PROJECT["project"]["version"] in _run([*command, "--version"], tmp_path)
    model = ROOT / "tests" / "fixtures" / "models" / "recurrent" / "model.xml"
    assert "no findings" in _run([*command, "validate", str(model)], tmp_path)
