"""If a port map names an axis that the tensor does not have, passes refuse it with a message."""

from __future__ import annotations

from pathlib import Path

import pytest

import irloop

BAD = Path(__file__).resolve().parents[1] / "fixtures" / "rules" / "irl622" / "bad_input.xml"


def test_the_error_names_the_missing_axis() -> None:
    model = irloop.read_model(BAD)
    with pytest.raises(irloop.InferenceError, match="the tensor has no axis 5"):
        irloop.transform(model, ["constant_folding", "dead_code"])
