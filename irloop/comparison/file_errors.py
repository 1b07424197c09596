"""Replaces an error in a model by the findings of the validation rules in its file.

A model that contradicts itself fails wherever it is first used, with an error about one operation.
The rules know the line in the file, the cause and the fix.
"""

from __future__ import annotations

from irloop.comparison.diff import diff
from irloop.diagnostics import Severity
from irloop.errors import ExecutionError, InferenceError, IrloopError, UnsupportedError
from irloop.formats import model_files
from irloop.graph.clone import clone_model
from irloop.graph.inference import Inference
from irloop.graph.model import Model
from irloop.graph.op import Constant
from irloop.graph.tensor import MappedTensor
from irloop.graph.walk import all_nodes
from irloop.opening import Path
from irloop.validation import engine

__all__ = ["error_of_file"]


def error_of_file(
    error: InferenceError | UnsupportedError | ExecutionError, model: Model, *, unchanged: bool
) -> IrloopError:
    """Return the errors that validation finds in the model's file, or `error` if it finds none.

    The validation errors are returned as one exception of the class of `error`. The result is
    `error`, too, if the model was not read from an IR file, or if the file no longer holds the
    model. Set `unchanged` if the model cannot have been changed since it was read; otherwise it is
    compared with the file.
    """
    file = model.source
    if file is None or model.dialect != "openvino":
        return error
    weights = _weights_of(model)
    try:
        # The conversion names all operations that irloop does not know (IRL109). The .bin of a
        # model without constants (IRL301) is not known, and does not matter.
        ignored = ("IRL109",) if weights else ("IRL109", "IRL301")
        report = engine.validate(file, weights=weights, ignore=ignored)
        errors = [item for item in report.sorted() if item.severity is Severity.ERROR]
        if not errors or not (unchanged or _is_in_file(model, file, weights)):
            return error
    except IrloopError:
        # The file was removed or replaced in the meantime.
        return error
    return type(error)(errors[0].message, diagnostics=errors)


def _is_in_file(model: Model, file: str, weights: Path | None) -> bool:
    """Return whether `file` still contains the same model as `model`.

    `weights` is the path of the .bin, or None if the model reads no constants from one.
    """
    read, copy = model_files.read(file, weights), clone_model(model)
    for each in (read, copy):
        # A conversion infers types before it fails.
        Inference(tolerant=True).run(each.graph)
    return diff(read, copy).same


def _weights_of(model: Model) -> Path | None:
    """The path of the .bin from which the constants of an IR are read; None if it has none."""
    for node in all_nodes(model.graph):
        if isinstance(node.op, Constant) and isinstance(node.op.tensor, MappedTensor):
            return node.op.tensor.file.source
    return None
