"""What the commands open in folders of strangers, as the system sees it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.test_opening import RECURRENT, model_with

#: Runs many commands in one process, because starting one for each takes most of the time.
DRIVER = """
import json, sys
from importlib.metadata import entry_points

def run(command, arguments):
    try:
        command.main(arguments, prog_name="irloop")
    except SystemExit as end:
        return end.code

# Processes that a sweep starts import this module, too.
if __name__ == "__main__":
    (entry,) = entry_points(group="console_scripts", name="irloop")
    with open(sys.argv[1]) as commands, open(sys.argv[2], "w") as ends:
        json.dump([[item, run(entry.load(), item)] for item in json.load(commands)], ends)
"""

#: Locations of external data. `{outside}` is a folder next to that of the model.
LOCATIONS = {
    "up": "../outside/w",
    "absolute": "{outside}/w",
    "link": "link",
    "linked-folder": "sub/w",
    "link-in-folder": "real/w",
    "pipe": "pipe",
    "hidden": ".git/config",
    "link-to-hidden": "innocent",
}


def hostile(home: Path, outside: Path) -> list[Path]:
    """Make models whose weights are elsewhere, each in a folder below `home`; return them."""
    models = []
    for name, location in LOCATIONS.items():
        folder = home / name
        (folder / ".git").mkdir(parents=True)
        (folder / ".git" / "config").write_bytes(bytes(8))
        (folder / "real").mkdir()
        (folder / "real" / "w").symlink_to(outside / "w")
        (folder / "link").symlink_to("../../outside/w")
        (folder / "sub").symlink_to("../../outside")
        (folder / "innocent").symlink_to(".git/config")
        os.mkfifo(folder / "pipe")
        models.append(model_with(folder, location.format(outside=outside)))
    for name in ("link", "absolute", "pipe", "hidden"):
        folder = home / f"ir-{name}"
        folder.mkdir()
        shutil.copy(RECURRENT, folder / "m.xml")
        targets = {"link": "../../outside/m.bin", "absolute": str(outside / "m.bin")}
        target = targets.get(name, ".git/config" if name == "hidden" else "")
        if target:
            (folder / "m.bin").symlink_to(target)
        else:
            os.mkfifo(folder / "m.bin")
        (folder / ".git").mkdir()
        shutil.copy(RECURRENT.with_suffix(".bin"), folder / ".git" / "config")
        models.append(folder / "m.xml")
    return models


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_command_opens_a_file_outside_the_folder_of_the_model(tmp_path: Path) -> None:
    home, outside, out = (tmp_path / name for name in ("home", "outside", "out"))
    for folder in (home, outside, out):
        folder.mkdir()
    (outside / "w").write_bytes(np.array([1, 2], "<f4").tobytes())
    for suffix in (".xml", ".bin"):
        shutil.copy(RECURRENT.with_suffix(suffix), outside / f"m{suffix}")
    models = hostile(home, outside)
    # Links to models, which only a search meets.
    (home / "m.xml").symlink_to("../outside/m.xml")
    (home / "linked").symlink_to("../outside")
    commands = [
        ["validate", str(home)],
        ["validate", str(home / "*" / "*.xml"), "--fix"],
        ["sweep", str(home), "-o", str(out / "results"), "--do", "validate,convert,check"],
    ]
    for number, model in enumerate(map(str, models)):
        other = ".onnx" if model.endswith(".xml") else ".xml"
        same = os.path.splitext(model)[1]
        commands += [
            ["validate", model],
            ["validate", model, "--fix"],
            ["inspect", model],
            ["view", model, "-o", str(out / f"{number}.html")],
            ["diff", model, str(RECURRENT)],
            ["run", model],
            ["check", model, model, "--engines", "numpy"],
            ["check", model, model],
            ["convert", model, "-o", str(out / f"{number}{other}"), "--no-validate"],
            ["convert", model, "-o", str(out / f"{number}.share.onnx"), "--weights", "share"],
            ["transform", model, "-o", str(out / f"{number}{same}"), "--pass", "constant_folding"],
        ]
    (tmp_path / "commands.json").write_text(json.dumps(commands), "utf-8")
    (tmp_path / "driver.py").write_text(DRIVER, "utf-8")
    trace = tmp_path / "trace"
    # -y appends to each descriptor the path that was really opened.
    tracer = [
        "strace",
        "-f",
        "-y",
        "-qq",
        "-o",
        str(trace),
        "-e",
        "trace=open,openat,openat2,creat",
    ]
    files = [str(tmp_path / name) for name in ("driver.py", "commands.json", "ends.json")]
    driver = [sys.executable, *files]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "scratch")}
    (tmp_path / "scratch").mkdir()
    result = subprocess.run(
        [*tracer, *driver],
        capture_output=True,
        check=False,
        cwd=out,
        env=environment,
        text=True,
        timeout=600,
    )
    if "ptrace" in result.stderr and not trace.exists():
        pytest.skip("this system does not let strace watch processes")
    assert result.returncode == 0, result.stderr
    ends = json.loads((tmp_path / "ends.json").read_text("utf-8"))
    assert [arguments for arguments, _ in ends] == commands
    assert not [end for end in ends if end[1] == 0 and end[0][0] not in ("sweep", "validate")]
    opened = set(re.findall(r"= \d+<(.*?)>", trace.read_text("utf-8", "replace")))
    # The trace is one of these commands: it shows files that they have to open.
    assert {str(model) for model in models} <= opened
    folders = {path for path in opened if os.path.isdir(path)}
    below = {path for path in opened - folders if path.startswith(f"{tmp_path}/")}
    ours = (f"{out}/", f"{tmp_path}/scratch/", *files)
    assert {path for path in below if not path.startswith(ours)} == set(map(str, models))
    # A pattern lists the folders that it matches, to name the models that it leaves out.
    assert {path for path in folders if path.startswith(str(outside))} <= {str(outside)}
