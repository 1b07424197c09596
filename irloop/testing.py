"""An assertion, for tests of other projects, that two models compute the same results.

For example::

    from irloop.testing import assert_equivalent

    def test_the_export() -> None:
        assert_equivalent("reference.onnx", "exported.xml", rtol=1e-3, atol=1e-3)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from irloop.comparison.compare import Comparison
    from irloop.graph.model import Model
    from irloop.graph.types import Shape

    Path = str | os.PathLike[str]

__all__ = ["assert_equivalent"]


def assert_equivalent(
    a: Model | Path,
    b: Model | Path,
    *,
    inputs: Any = None,
    engines: str | Sequence[str] = "auto",
    engine_a: str | None = None,
    engine_b: str | None = None,
    seeds: int = 2,
    first_seed: int = 0,
    trips: Sequence[int] = (5, 2, 1, 0),
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Shape | Sequence[int | None]] | None = None,
    types: Mapping[str, str] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    seconds: float = 60.0,
    max_memory: int | None = 8 * 2**30,
) -> Comparison:
    """Assert that two models agree in every output, for the same inputs, in every run and engine.

    Args:
        a: a model, or the path of one; its element types and shapes determine the generated inputs.
        b: the other model, in any format.
        inputs: arrays by name or by position, or a list of such; None: generate them.
        engines: "auto": irloop's own executor (numpy), and each installed engine that was made
            for the format of a model (onnxruntime for ONNX, openvino for IR); or names of
            engines, in a list or separated by commas; onnx-reference and module:function are
            also allowed. All engines but numpy run in separate processes.
        engine_a: the engine of `a` only; numpy if just `engine_b` is given.
        engine_b: the engine of `b` only.
        seeds: the number of generated sets of inputs.
        first_seed: the seed of the first set.
        trips: the values of inputs that are trip counts.
        dims: sizes of unknown dimensions, by name ("?": those without a name).
        shapes: shapes of inputs, by name, for each model that has such an input.
        types: element types, such as "f32", of inputs whose type is dynamic, by name, for each
            model that has such an input.
        rtol: the relative tolerance: |x - y| may be at most atol + rtol * |x|. By default it
            depends on the element type.
        atol: the absolute tolerance. By default it depends on the element type.
        seconds: the time limit of one run of one model.
        max_memory: the memory limit of an engine's process in bytes; None: unlimited. Linux only.

    Returns:
        The comparison: how far the outputs differ, and which parts no run exercised.

    Raises:
        AssertionError: with the report of the comparison, when the models differ, one of them does
            not run, or nothing could be compared.
        UsageError: for an engine that is missing or cannot run the model, or for inputs that do not
            match the model.
        ReadError: when a file is not the model it claims to be.
    """
    # Pytest shows the line of the test that failed, not the raise below.
    __tracebackhide__ = True
    import irloop

    comparison = irloop.compare(
        a,
        b,
        inputs=inputs,
        engines=engines,
        engine_a=engine_a,
        engine_b=engine_b,
        seeds=seeds,
        first_seed=first_seed,
        trips=trips,
        dims=dims,
        shapes=shapes,
        types=types,
        rtol=rtol,
        atol=atol,
        seconds=seconds,
        max_memory=max_memory,
    )
    if not comparison.equal:
        words = "could not be compared" if comparison.inconclusive else "are not equivalent"
        raise AssertionError(f"{_called(a)} and {_called(b)} {words}\n{comparison}")
    return comparison


def _called(model: Model | Path) -> str:
    from irloop.graph.model import Model

    return repr(model.graph.name or "model") if isinstance(model, Model) else str(model)
