"""The base of ONNX Runtime's own operations, domain com.microsoft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from irloop.dialects.contrib.arrays import OPSET, kernel_of
from irloop.dialects.contrib.nodes import decomposed
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.dialects.elements import check_elements, misfit
from irloop.dialects.onnx.base import RUNTIME_DOMAIN, OnnxOp
from irloop.errors import InferenceError, plain_reason
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import UNKNOWN_TYPE, ValueType

__all__ = ["DOMAIN", "ContribOp"]

DOMAIN = RUNTIME_DOMAIN


class ContribOp(OnnxOp, domain=DOMAIN):
    """An operation of ONNX Runtime, defined by its decomposition into standard operations.

    A class implements `decompose`, from which its types, its kernel, its conversion to IR and its
    standard form (``irloop convert --standard``) are derived. It also implements `infer` if
    that keeps more information (named dimensions), or is called so often that decomposing is too
    slow. `operands` states the element types that ONNX Runtime allows.
    """

    of_runtime: ClassVar[bool] = True
    #: The first opset of ai.onnx whose operations suffice for `decompose`.
    oldest: ClassVar[int] = 11

    def decompose(self, *args: Any, **keywords: Any) -> Term | Sequence[Term | None]:
        """The outputs, computed from the inputs: ``decompose(self, s, x, bias)``.

        `s` are the `Steps` to compute with; omitted inputs are None. Only the first `s.n_outputs`
        outputs are needed.

        Raises:
            CannotDecomposeError: if standard operations cannot compute this.
        """
        raise NotImplementedError

    def written_out(self, s: Steps, inputs: Sequence[Term | None]) -> Sequence[Term | None]:
        """Call `decompose` with all inputs of the operation; those omitted at the end are None.

        Raises:
            CannotDecomposeError: when a required input is missing, or `decompose` fails.
        """
        least, most = self.arity
        terms = list(inputs)
        for position in range(least):
            lacks = position >= len(terms) or terms[position] is None
            if lacks and position not in self.omissible:
                raise CannotDecomposeError(f"input {position} is missing")
        wrong = misfit(type(self), [s.known_element(term) for term in terms], "ONNX Runtime")
        if wrong is not None:
            raise CannotDecomposeError(str(wrong))
        if most is not None:
            terms = [*terms[:most], *[None] * (most - len(terms))]
        try:
            made = self.decompose(s, *terms)
        except CannotDecomposeError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # The attributes and ranks in a file may be nonsense, such as 0 heads or a scalar
            # instead of a matrix.
            reason = f"its attributes do not fit its inputs: {plain_reason(error)}"
            raise CannotDecomposeError(reason.removesuffix(": ")) from error
        return (made,) if isinstance(made, Term) else made

    def check(self, args: Arguments) -> None:
        super().check(args)
        check_elements(args, type(self), "ONNX Runtime")

    def infer(self, args: Arguments) -> list[ValueType]:
        """The types of the outputs, for inputs whose element types are allowed.

        Raises:
            InferenceError: when the inputs contradict the operation.
        """
        try:
            graph, positions = decomposed(
                self.written_out, args.types, args.n_outputs, OPSET, args.constant
            )
        except CannotDecomposeError:
            return [UNKNOWN_TYPE] * args.n_outputs
        except InferenceError as error:
            detail = error.diagnostics[0]
            raise args.error(error.message, detail.expected, detail.found) from None
        results = dict(zip(positions, graph.outputs, strict=True))
        return [
            results[position].type if position in results else UNKNOWN_TYPE
            for position in range(args.n_outputs)
        ]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernel_of(self.written_out, n_outputs)
