"""The hook, the action and the CI example work as documented when they run as in CI."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import irloop

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
RECURRENT = ROOT / "tests" / "fixtures" / "models" / "recurrent" / "model.xml"
EDGE = '<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>'

#: Expressions such as "${{ inputs.paths }}".
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


def loaded(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A working folder with models/good.xml, and models/bad.xml, which has one error."""
    folder = tmp_path / "models"
    folder.mkdir()
    text = RECURRENT.read_text(encoding="utf-8")
    assert text.count(EDGE) == 1
    broken = text.replace(EDGE, EDGE.replace('from-port="2"', 'from-port="9"'))
    for name, content in (("good", text), ("bad", broken)):
        (folder / f"{name}.xml").write_text(content, encoding="utf-8")
        shutil.copy(RECURRENT.with_suffix(".bin"), folder / f"{name}.bin")
    return tmp_path


def command(line: str, cwd: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run a line that starts with the name of the command."""
    name, *arguments = shlex.split(line)
    assert name == "irloop"
    return subprocess.run(
        [sys.executable, "-m", "irloop", *arguments, *more],
        capture_output=True,
        check=False,
        cwd=cwd,
        text=True,
        timeout=120,
    )


def test_the_hook_takes_changed_files(models: Path) -> None:
    (hook,) = loaded(".pre-commit-hooks.yaml")
    assert (hook["id"], hook["language"]) == ("irloop-validate", "python")
    pattern = re.compile(hook["files"])
    assert all(pattern.search(name) for name in ("a/m.xml", "m.onnx", "m.bin"))
    assert not pattern.search("m.xml.txt")
    (models / "pom.xml").write_text("<project/>", encoding="utf-8")
    done = command(hook["entry"], models, "pom.xml", "models/good.bin")
    assert (done.returncode, done.stdout) == (0, "no findings in 1 file\n")
    done = command(hook["entry"], models, "pom.xml", "models/bad.xml")
    assert done.returncode == 1
    assert "IRL203" in done.stdout


class Action:
    """The validation step of the action, run by bash as by a CI runner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps = {step["id"]: step for step in loaded("action.yml")["runs"]["steps"]}
        # Create what the installation step would, from the environment of the tests.
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name, call in (("irloop", '-P -m irloop "$@"'), ("python", '"$@"')):
            script = self.bin / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {call}\n', encoding="utf-8")
            script.chmod(0o755)

    def run(
        self, *, fork: str = "", **inputs: str
    ) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        """Run the step; return the completed process, and the outputs that the step wrote."""
        declared = loaded("action.yml")["inputs"]
        values = {f"inputs.{name}": item.get("default", "") for name, item in declared.items()}
        for name, value in inputs.items():
            assert f"inputs.{name}" in values
            values[f"inputs.{name}"] = value
        values["steps.install.outputs.bin"] = str(self.bin)
        values["github.event.pull_request.head.repo.fork"] = fork
        step = self.steps["validate"]
        output = self.folder / "output"
        output.write_text("", encoding="utf-8")
        script = self.folder / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        variables = {
            name: EXPRESSION.sub(lambda found: values[found.group(1)], text)
            for name, text in step["env"].items()
        }
        self.summary = self.folder / "summary.md"
        self.summary.write_text("", encoding="utf-8")
        runner = {
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            # Where the documented workflow checks out the action.
            "GITHUB_ACTION_PATH": str(self.folder / ".irloop"),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            capture_output=True,
            check=False,
            cwd=self.folder,
            env={**os.environ, **runner, **variables},
            text=True,
            timeout=120,
        )
        lines = output.read_text(encoding="utf-8").splitlines()
        return done, dict(line.split("=", 1) for line in lines)


@pytest.fixture
def action(models: Path) -> Action:
    if os.name == "nt" or shutil.which("bash") is None:
        pytest.skip("no bash: the steps of the action cannot be run")
    return Action(models)


def test_a_good_model_passes(action: Action) -> None:
    done, outputs = action.run(paths="models/good.xml\n")
    assert (done.returncode, done.stdout) == (0, "no findings in 1 file\n")
    assert outputs == {"exit-code": "0", "errors": "0", "warnings": "0", "infos": "0"}


def test_outputs_survive_the_failing_step(action: Action) -> None:
    done, outputs = action.run(sarif="found.sarif", junit="found.xml")
    assert done.returncode == 1
    assert "::error file=models/bad.xml,line=" in done.stdout
    assert "| IRL203 | <code>./models/bad.xml&#58;" in action.summary.read_text(encoding="utf-8")
    assert outputs == {
        "exit-code": "1", "errors": "1", "warnings": "0", "infos": "0", "sarif": "found.sarif"
    }  # fmt: skip
    sarif = json.loads((action.folder / "found.sarif").read_text(encoding="utf-8"))
    assert len(sarif["runs"][0]["results"]) == 1
    assert 'failures="1"' in (action.folder / "found.xml").read_text(encoding="utf-8")


def test_the_checkout_of_the_action_is_not_validated(action: Action) -> None:
    fixtures = action.folder / ".irloop" / "tests"
    fixtures.mkdir(parents=True)
    shutil.copy(action.folder / "models" / "bad.xml", fixtures)
    (action.folder / "models" / "bad.xml").unlink()
    for fork in ("", "true"):
        done, outputs = action.run(fork=fork)
        assert (done.returncode, outputs["errors"]) == (0, "0"), done.stdout


def test_no_match_is_not_a_success(action: Action) -> None:
    # A report file of an earlier run is not taken for a report of this run.
    action.run(paths="models/good.xml", sarif="found.sarif")
    done, outputs = action.run(paths="nowhere/**/*.onnx", sarif="found.sarif")
    assert done.returncode == 2
    assert outputs == {"exit-code": "2"}


def test_every_input_arrives(action: Action) -> None:
    (action.folder / "own.toml").write_text('severity = {IRL203 = "warning"}\n', encoding="utf-8")
    done, outputs = action.run(paths="models", config="own.toml")
    assert (done.returncode, outputs["warnings"]) == (0, "1")
    assert action.run(paths="models", config="own.toml", **{"fail-on": "warning"})[0].returncode
    assert action.run(paths="models", select="IRL3,IRL5")[0].returncode == 0
    assert action.run(paths="models", ignore="IRL203")[0].returncode == 0
    made = command("irloop validate models --baseline b.json --write-baseline", action.folder)
    assert made.returncode == 0
    assert action.run(paths="models", baseline="b.json")[0].returncode == 0


@pytest.mark.parametrize("given", [{"fork": "true"}, {"no-ignore": "true"}])
def test_authors_of_forks_cannot_hide_errors(action: Action, given: dict[str, str]) -> None:
    """Comments in models, settings and a baseline come with the models of a fork."""
    (action.folder / "irloop.toml").write_text('ignore = ["IRL203"]\n', encoding="utf-8")
    command("irloop validate models --no-ignore --baseline b.json --write-baseline", action.folder)
    model = action.folder / "models" / "bad.xml"
    text = model.read_text(encoding="utf-8")
    model.write_text(text.replace("<net", "<!-- irloop: ignore-file IRL203 --><net"), "utf-8")
    for more in ({}, {"config": "irloop.toml"}, {"baseline": "b.json"}):
        inputs = {"paths": "models", "fork": "false", **more}
        assert action.run(**inputs)[0].returncode == 0
        done, outputs = action.run(**{**inputs, **given})
        assert (done.returncode, outputs["errors"]) == (1, "1"), more
    assert action.run(paths="models", fork="true", **{"no-ignore": "false"})[0].returncode == 0


def test_inputs_are_never_run_as_commands(action: Action) -> None:
    done, outputs = action.run(paths="$(touch run); `touch run`\n--version\n", select='"; exit 0')
    assert (done.returncode, outputs) == (2, {"exit-code": "2"})
    assert not (action.folder / "run").exists()
    for step in loaded("action.yml")["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_the_action_declares_what_it_uses() -> None:
    content = loaded("action.yml")
    assert content["runs"]["using"] == "composite"
    known = {f"inputs.{name}" for name in content["inputs"]}
    known |= {"steps.python.outputs.python-path", "steps.install.outputs.bin"}
    known |= {"github.event.pull_request.head.repo.fork"}
    for step in content["runs"]["steps"]:
        texts = [*step.get("env", {}).values(), *map(str, step.get("with", {}).values())]
        assert {name for text in texts for name in EXPRESSION.findall(text)} <= known
        assert "uses" in step or step["shell"] == "bash"
    written = set(re.findall(r'echo "([\w-]+)=', content["runs"]["steps"][-1]["run"]))
    assert set(content["outputs"]) == written | {"errors", "warnings", "infos"}
    for name, output in content["outputs"].items():
        assert EXPRESSION.findall(output["value"]) == [f"steps.validate.outputs.{name}"]


def test_the_example_uses_only_inputs_that_the_action_has(models: Path) -> None:
    content, kit = loaded("docs/examples/ci.yml"), loaded("action.yml")
    steps = [step for job in content["jobs"].values() for step in job["steps"]]
    (own,) = [step for step in steps if step.get("id") == "irloop"]
    assert set(own["with"]) <= set(kit["inputs"])
    used = re.findall(r"steps\.irloop\.outputs\.([\w-]+)", json.dumps(content))
    assert set(used) <= set(kit["outputs"])
    (models / "models" / "bad.xml").unlink()
    for name in ("net", "reference"):
        shutil.copy(RECURRENT, models / "models" / f"{name}.xml")
        shutil.copy(RECURRENT.with_suffix(".bin"), models / "models" / f"{name}.bin")
    converted, _ = irloop.convert(RECURRENT)
    irloop.save_model(converted, models / "models" / "net.onnx")
    lines = [step["run"] for step in steps if step.get("run", "").startswith("irloop ")]
    assert len(lines) == 2
    for line in lines:
        done = command(line, models)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_container_file_copies_what_the_package_is_built_from() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith("COPY ")]
    copied = {name for line in lines if "--from=build" not in line for name in line[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    assert copied >= {"pyproject.toml", "README.md", "LICENSE", "irloop", "cli", "schemas"}
