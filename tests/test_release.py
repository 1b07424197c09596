"""The release: dependencies are bounded, locked by hash, and have suitable licences."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LOCKED = (ROOT / "requirements" / "locked.txt").read_text("utf-8")
NAMES = [re.split(r"[<>=]", item)[0] for item in PROJECT["dependencies"]]

#: Licences that let anybody use, change and distribute the software.
PERMISSIVE = ("Apache-2.0", "BSD", "MIT", "PSF", "0BSD", "Zlib", "CC0-1.0", "Python-2.0")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_a_dependency_has_both_bounds(requirement: str) -> None:
    assert re.fullmatch(r"[\w-]+>=[\d.]+,<\d+", requirement)


@pytest.mark.parametrize("file", ["locked.txt", "build.txt", "fleet.txt", "release.txt"])
def test_every_locked_package_has_hashes(file: str) -> None:
    text = (ROOT / "requirements" / file).read_text("utf-8")
    entries = [item for item in re.split(r"\n(?=\w)", text) if "==" in item]
    assert entries
    assert all("--hash=sha256:" in item for item in entries)


def test_the_locked_packages_are_the_needed_ones() -> None:
    locked = {plain(name) for name in re.findall(r"^([\w.-]+)==", LOCKED, re.MULTILINE)}
    assert {plain(name) for name in NAMES} <= locked
    # All additional packages are needed by one of them.
    assert locked - {plain(name) for name in NAMES} <= {"typing-extensions"}
    for requirement in PROJECT["dependencies"]:
        name, least, most = re.fullmatch(r"([\w-]+)>=([\d.]+),<(\d+)", requirement).groups()  # type: ignore[union-attr]
        for version in re.findall(rf"^{plain(name)}==([\d.]+)", LOCKED, re.MULTILINE):
            numbers = [int(part) for part in version.split(".")]
            assert [int(part) for part in least.split(".")] <= numbers
            assert numbers[0] < int(most)


def test_the_lock_of_the_extra_fleet_fits_its_bounds_and_the_other_lock() -> None:
    """Its file can be installed together with `locked.txt`, and contains everything that the extra
    requires.
    """
    text = (ROOT / "requirements" / "fleet.txt").read_text("utf-8")
    locked = set(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))
    assert set(re.findall(r"^([\w.-]+)==([\w.]+)", LOCKED, re.MULTILINE)) <= locked
    for requirement in PROJECT["optional-dependencies"]["fleet"]:
        name, least, most = re.fullmatch(r"([\w-]+)>=([\d.]+),<(\d+)", requirement).groups()  # type: ignore[union-attr]
        versions = [version for found, version in locked if found == name]
        assert versions, name
        for version in versions:
            numbers = [int(part) for part in version.split(".")]
            assert [int(part) for part in least.split(".")] <= numbers
            assert numbers[0] < int(most)


@pytest.mark.parametrize("name", [*NAMES, "typing_extensions"])
def test_a_dependency_may_be_used_by_anybody(name: str) -> None:
    data = importlib.metadata.metadata(name)
    named = ("License-Expression", "License")
    licence = next((data[key] for key in named if key in data), "")
    classifiers = " ".join(data.get_all("Classifier") or ())
    assert any(word in f"{licence} {classifiers}" for word in PERMISSIVE), licence
    assert "GPL" not in licence


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")))
def test_workflows_have_only_read_permission_by_default(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in path.read_text("utf-8")


WORKFLOWS = [
    *(ROOT / ".github" / "workflows").glob("*.yml"),
    *(ROOT / "docs").rglob("*.yml"),
    *(ROOT / "docs" / "pages").rglob("*.md"),
    *(ROOT / name for name in ("README.md", "action.yml")),
]


def test_actions_and_images_are_pinned_by_digest() -> None:
    texts = {path: path.read_text("utf-8") for path in WORKFLOWS}
    used = [
        (path, name)
        for path, text in texts.items()
        for name in re.findall(r"uses: (\S+)", text)
        if not name.startswith("./")
    ]
    assert len(used) > 10
    assert not [(p, name) for p, name in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name)]
    container = (ROOT / "Containerfile").read_text("utf-8")
    images = re.findall(r"^FROM (\S+)", container, re.MULTILINE)
    assert images
    assert all(re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", name) for name in images)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_checkout_leaves_no_credentials_beside_the_models(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_the_tests_that_security_names_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    paths = re.findall(r"`((?:tests|fuzz)/[\w/.]+)`", text)
    assert len(paths) > 10
    assert not [path for path in paths if not (ROOT / path).exists()]
    names = re.findall(r"`(test_\w+)`", text)
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert not [name for name in names if f"def {name}(" not in sources]


def test_the_release_is_built_from_the_hash_lock() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    runs = [step.get("run", "") for step in workflow["jobs"]["build"]["steps"]]
    installs = [line for run in runs for line in run.splitlines() if "pip install" in line]
    assert installs
    assert all("--require-hashes" in line for line in installs)
    assert "python -m build --no-isolation" in runs


def test_nothing_installs_irloop_by_name() -> None:
    files = [
        ROOT / "README.md", ROOT / "action.yml", ROOT / "Containerfile",
        *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.yml"),
        *(ROOT / ".github").rglob("*.yml"),
    ]  # fmt: skip
    for file in files:
        text = file.read_text("utf-8")
        assert not re.search(
            r"pip install (-U |--upgrade )?[\"']?irloop(\[\w+\])?([\"'\n=]| (?!@))", text
        ), file


def test_the_changelog_has_a_short_section_for_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = dict(re.findall(r"^## \[(.+?)\].*?\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.M))
    assert list(sections)[:2] == ["Unreleased", PROJECT["version"]]
    assert 1_000 < len(sections[PROJECT["version"]].encode()) <= 10_000


def test_the_address_of_the_repository_is_in_one_place() -> None:
    owner, name = PROJECT["urls"]["Repository"].removeprefix("https://github.com/").split("/")
    folders = ("docs", "fuzz", ".github", "requirements", "schemas")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    files += [ROOT / name for name in ("CHANGELOG.md", "action.yml", "Containerfile")]
    texts = [file.read_text("utf-8", errors="ignore") for file in files]
    assert len(texts) > 50
    assert not [file for file, text in zip(files, texts, strict=True) if f"{owner}/{name}" in text]
    # The other addresses of the same table begin with it.
    addresses = PROJECT["urls"].values()
    assert all(address.startswith(PROJECT["urls"]["Repository"]) for address in addresses)
    assert (ROOT / "pyproject.toml").read_text("utf-8").count(owner) == len(addresses)


def test_the_files_for_oss_fuzz_get_the_address(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "fuzz" / "oss-fuzz" / "hand_in.py"), str(tmp_path / "p")]
    subprocess.run(command, check=True)
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == [
        "Dockerfile", "build.sh", "project.yaml",
    ]  # fmt: skip
    project = yaml.safe_load((tmp_path / "p" / "project.yaml").read_text("utf-8"))
    address = PROJECT["urls"]["Repository"]
    assert (project["homepage"], project["main_repo"]) == (address, address)
    docker = (tmp_path / "p" / "Dockerfile").read_text("utf-8")
    assert f"git clone --depth 1 {address} $SRC/irloop" in docker


def test_the_tests_of_a_release_find_their_files() -> None:
    """They run in a folder without the source code, so the files that they read must be copied
    there.
    """
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    script = steps["jobs"]["test"]["steps"][-1]["run"]
    lines = re.findall(r"^cp -r (.*) run/$", script, re.MULTILINE)
    copied = {name for line in lines for name in line.split()}
    left_out = {ROOT / name for name in re.findall(r"--ignore (\S+)", script)}
    read: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        if path not in left_out:
            text = path.read_text("utf-8")
            read.update(re.findall(r'\bROOT / "([\w.-]+)"', text))
            # Names of files that are computed cannot be checked here.
            assert "ROOT / name" not in text or path.name == "test_release.py", path
    assert copied <= {path.name for path in ROOT.iterdir()}
    assert read - {"shared", "tests"} <= copied
    assert not copied & {"irloop", "cli"}
