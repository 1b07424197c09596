"""Makes the page of one model, with the values of a run if inputs are given."""

from __future__ import annotations

from typing import Any

from irloop.errors import IrloopError
from irloop.execution.session import Session
from irloop.graph.model import Model
from irloop.pages.contents import Contents
from irloop.pages.page import page
from irloop.pages.side_by_side import model_name
from irloop.pages.values import Values

__all__ = ["model_data", "view"]


def view(model: Model, inputs: Any = None, *, whole_weights: bool = False) -> str:
    """The page of a model as the text of an HTML file, with `whole_weights` to be saved from it.

    Raises:
        UsageError: for inputs that do not match the model.
        UnsupportedError: for inputs of a model that the executor cannot run.
    """
    data = model_data(model, inputs, whole_weights=whole_weights)
    return page({"title": data["title"], "models": [data]})


def model_data(model: Model, inputs: Any = None, *, whole_weights: bool = False) -> dict[str, Any]:
    """The data that a page shows for a model.

    With `inputs` the model is run, and the data includes the values of the run. If the run fails,
    the data includes the values up to the failure and the error message.

    Raises:
        IrloopError: when the run fails before any node has a value.
    """
    contents = Contents(model, model_name(model), whole_weights=whole_weights)
    if inputs is None:
        return contents.data
    values = Values(contents.numbers)
    session = Session(model, hoist=False)
    problem = ""
    try:
        outputs = session.run(inputs, trace=values)
        values.add_outputs(model.graph.results, list(outputs.values()))
    except IrloopError as error:
        if not values.data()["by_node"]:
            raise
        # The page shows the values up to the failure.
        problem = error.message
    return {**contents.data, "values": {**values.data(), "problem": problem}}
