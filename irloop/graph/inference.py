"""Infers element types, shapes and small constants through a graph and its bodies.

`Inference` asks each op class (`Op.infer`) and remembers folded constants (`constant`) and partly
known integer vectors (`dims`), because shape computations inside a model consist of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from irloop.errors import InferenceError, InferenceKind, IrloopError, plain_reason
from irloop.graph.cost import bytes_to_fold
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.op import Constant, UnknownOp
from irloop.graph.types import (
    LARGEST_RANK,
    LARGEST_SIZE,
    UNKNOWN_SHAPE,
    UNKNOWN_TYPE,
    Dim,
    ElementType,
    NoAxisError,
    Shape,
    TensorType,
    ValueType,
    refine_type,
)
from irloop.graph.walk import node_path
from irloop.graph.wellformed import misfit
from irloop.progress import counted

if TYPE_CHECKING:
    import numpy as np

    from irloop.graph.tensor import Tensor

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["FOLD_LIMIT", "Inference", "NodeArguments", "known_dims", "types_of"]

#: Larger constants are not folded, because they are weights and not shapes.
FOLD_LIMIT = 4096

#: Folding one operation may take at most this many bytes, temporaries included (see
#: `bytes_to_fold`).
FOLD_BYTES = 1 << 26

#: Values of these element types are never lists of sizes.
_NO_SIZES = frozenset(
    element
    for element in ElementType
    if element.is_float or element in (ElementType.BOOLEAN, ElementType.STRING)
)

#: Nested loops multiply the number of visits. Without a limit, inference of a hostile file might
#: never end.
VISIT_LIMIT = 5_000_000


class NodeArguments:
    """The inputs of one node, as seen by the shape inference of its operation.

    This is the implementation of `Arguments` for nodes of a graph. It takes the types and the known
    elements of the inputs from an `Inference`.
    """

    __slots__ = ("_inference", "looked", "n_outputs", "node", "types")

    def __init__(self, node: Node, inference: Inference) -> None:
        self.node = node
        self._inference = inference
        #: True once the operation has asked for the elements of an input, not only for its type.
        self.looked = False
        self.types: tuple[ValueType | None, ...] = tuple(
            [None if value is None else value.type for value in node.inputs]
        )
        self.n_outputs = len(node.outputs)

    def __len__(self) -> int:
        return len(self.types)

    def has(self, position: int) -> bool:
        """Return whether input `position` is connected."""
        return position < len(self.types) and self.types[position] is not None

    def type(self, position: int) -> ValueType:
        """The type of an input; unknown when it is omitted."""
        found = self.types[position] if position < len(self.types) else None
        return UNKNOWN_TYPE if found is None else found

    def tensor(self, position: int) -> TensorType:
        """The type of an input that has to be a tensor.

        Raises:
            InferenceError: for a sequence or an optional.
        """
        operand = self.type(position)
        if not isinstance(operand, TensorType):
            raise self.error(f"input {position} is not a tensor", "a tensor", str(operand))
        return operand

    def element(self, position: int) -> ElementType:
        """The element type of an input; `DYNAMIC` when it is not known."""
        return self.tensor(position).element

    def shape(self, position: int) -> Shape:
        """The shape of an input."""
        return self.tensor(position).shape

    def rank(self, position: int) -> int | None:
        """The rank of an input, or None if it is unknown."""
        return self.tensor(position).shape.rank

    def constant(self, position: int) -> Array | None:
        """The value of an input that is constant and small, or None."""
        self.looked = True
        value = self.node.inputs[position] if position < len(self.types) else None
        return None if value is None else self._inference.constant(value)

    def ints(self, position: int) -> tuple[int, ...] | None:
        """The elements of a constant integer or boolean input (one element for a scalar).

        None for any other input.
        """
        array = self.constant(position)
        if array is None or array.dtype.kind not in "biu":
            return None
        return tuple(int(item) for item in array.reshape(-1))

    def dims(self, position: int) -> tuple[Dim, ...] | None:
        """The elements of an integer input as far as they are known; None if none is known."""
        value = self.node.inputs[position] if position < len(self.types) else None
        if value is None:
            return None
        numbers = self._inference.dims(value)
        type = self.types[position]
        has_sizes = not isinstance(type, TensorType) or type.element not in _NO_SIZES
        # If the element type is in `_NO_SIZES`, None follows from the type alone, and the elements
        # do not count as read.
        self.looked |= numbers is not None or has_sizes
        return numbers

    @property
    def outputs(self) -> tuple[ValueType, ...]:
        """The current types of the node's outputs."""
        return tuple(value.type for value in self.node.outputs)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies of the node."""
        return self.node.bodies

    def infer_body(
        self,
        body: Body,
        types: Sequence[ValueType],
        constants: Mapping[int, Array] | None = None,
    ) -> list[ValueType]:
        """Infer a body with these parameter types and return the types of its results.

        `constants` holds the values of parameters that are the same constant in every iteration.
        """
        self._inference.run(body.graph, types, constants)
        return [value.type for value in body.graph.outputs]

    @contextmanager
    def errors_ignored(self) -> Iterator[None]:
        """Return a context manager that drops the inference errors of its `with` block.

        It is used for bodies that never run, such as the branch that a constant condition does not
        select: their shapes may contradict each other.
        """
        errors = self._inference.errors
        before = len(errors)
        try:
            with suppress(InferenceError):
                yield
        finally:
            del errors[before:]

    def constant_result(self, body: Body, result: int) -> Array | None:
        """Return the constant value of a body result; None if the result is not constant.

        `infer_body` must have been called for the body. `result` is the position of the result.
        """
        value = body.graph.results[result].inputs[0]
        return None if value is None else self._inference.constant(value)

    def error(
        self,
        message: str,
        expected: str = "",
        found: str = "",
        *,
        kind: InferenceKind = "operands",
    ) -> InferenceError:
        """Make an error that names this node; the caller raises it.

        `kind` is "elements" if the operation does not allow the element types or their combination,
        and "range" if an axis, a number or a word is outside of what the operation allows.
        """
        return InferenceError(
            f"{self.node.op.label} {node_path(self.node)!r}: {message}",
            location=self.node.location,
            expected=expected,
            found=found,
            kind=kind,
        )


class _Known(NamedTuple):
    """A cache entry: the types inferred for an operation with inputs of certain types.

    The key of the entry contains ids of objects. `kept` keeps these objects alive, so that no other
    object gets one of the ids.
    """

    types: list[ValueType]
    kept: object
    looked: bool


class Inference:
    """Infers the types in graphs, and remembers the constants that it finds.

    With `tolerant`, if the inputs or attributes of an operation contradict its specification, its
    outputs get their declared types, and the error is kept in `errors`. Without `tolerant`, the
    error is raised.
    """

    def __init__(self, *, tolerant: bool = False) -> None:
        self.errors: list[InferenceError] = []
        self._tolerant = tolerant
        self._constants: dict[Value, Array | None] = {}
        self._dims: dict[Value, tuple[Dim, ...]] = {}
        self._declared: dict[Value, ValueType] = {}
        #: The declared types of body parameters, which `run` replaces by the types of its caller.
        self._parameters: dict[Value, ValueType] = {}
        self._hints: dict[Value, TensorType] = {}
        self._seen: dict[Graph, tuple[int, tuple[ValueType, ...], dict[int, bytes]]] = {}
        #: The types of outputs, keyed by operation, identity of the input types, and declared
        #: types.
        self._known: dict[tuple[Any, ...], _Known] = {}
        #: Equal types are represented by one object, so that keys of `_known` are equal.
        self._types: dict[ValueType, ValueType] = {}
        #: The same objects, by the element type and shape of a constant.
        self._constant_types: dict[tuple[ElementType, tuple[int, ...]], ValueType] = {}
        self._visits = 0

    def run(
        self,
        graph: Graph,
        types: Sequence[ValueType] | None = None,
        constants: Mapping[int, Array] | None = None,
    ) -> None:
        """Infer the type of every value of `graph`, starting from its parameters.

        `types` are the types of the parameters; by default, the parameters keep their types.
        `constants` maps positions of parameters to their values, as far as they are known.

        Raises:
            InferenceError: when the inputs or attributes of an operation contradict its
                specification, unless the inference is tolerant.
        """
        if types is not None:
            known = constants or {}
            seen = (len(graph), tuple(types), {at: known[at].tobytes() for at in sorted(known)})
            if self._seen.get(graph) == seen:
                # Otherwise a nested loop would be inferred again for every enclosing loop.
                return
            self._seen[graph] = seen
            for node, entering in zip(graph.parameters, types, strict=True):
                value = node.outputs[0]
                self._parameters.setdefault(value, value.type)
                value.type = entering
        for index, node in enumerate(graph.parameters):
            value = node.outputs[0]
            value.type = self._types.setdefault(value.type, value.type)
            array = None if constants is None else constants.get(index)
            if array is None:
                self._constants.pop(node.outputs[0], None)
            else:
                self._constants[node.outputs[0]] = array
        nodes: Iterable[Node] = graph.nodes
        if types is None and graph.owner is None:
            nodes = counted("types", nodes, len(graph), every=256)
        for node in nodes:
            self.visit(node)
        if types is None and graph.owner is not None and constants is None:
            # Remember the declared types, because the owner usually passes the same ones; then the
            # body is not inferred again.
            declared = tuple(node.outputs[0].type for node in graph.parameters)
            self._seen[graph] = (len(graph), declared, {})

    def visit(self, node: Node) -> None:
        """Set the types of one node's outputs from its inputs."""
        self._visits += 1
        if self._visits > VISIT_LIMIT:
            raise InferenceError(
                "loops are nested so deeply that inferring their types would take too long",
                location=node.location,
                code="IRL499",
                found=f"more than {VISIT_LIMIT} visits",
            )
        op, outputs = node.op, node.outputs
        constants, dims, declared = self._constants, self._dims, self._declared
        for value in outputs:
            if value not in declared:
                declared[value] = value.type
            constants.pop(value, None)
            dims.pop(value, None)
        if isinstance(op, Constant):
            tensor = op.tensor
            known_type = self._constant_types.get((tensor.element, tensor.shape))
            outputs[0].type = known_type or self._type_of(tensor)
            return
        if isinstance(op, UnknownOp):
            return
        key = self._key(node)
        known = None if key is None else self._known_types(key, node)
        if known is not None:
            # Nearly every node has one output, and a loop over pairs would take longer.
            if len(known) == 1:
                outputs[0].type = known[0]
                return
            for value, type in zip(outputs, known, strict=True):
                value.type = type
            return
        args = NodeArguments(node, self)
        try:
            types = types_of(node, args)
        except InferenceError as error:
            if not self._tolerant:
                raise
            self.errors.append(error)
            return
        shared = self._types
        for value, inferred in zip(outputs, types, strict=False):
            completed = _completed(inferred, declared[value])
            if value in self._hints:
                completed = refine_type(completed, self._hints[value])
            value.type = shared.setdefault(completed, completed)
        self._fold(node, args)
        if key is not None:
            self._keep_types(key, node, args)

    def _type_of(self, tensor: Tensor) -> ValueType:
        """The type of a constant of an element type and shape that no earlier constant has."""
        type = self._types.setdefault(tensor.type, tensor.type)
        self._constant_types[tensor.element, tensor.shape] = type
        return type

    def _key(self, node: Node) -> tuple[Any, ...] | None:
        """Return the key under which the inferred types of `node` are cached, or None.

        Two nodes with equal operations, input types and declared output types have the same key, so
        that only the first node is inferred. A node with bodies or without inputs has no key. If
        hints were given (see `hint`), no node has a key.
        """
        inputs = node.inputs
        if node.bodies or self._hints or not inputs:
            return None
        declared = self._declared
        key = [*node.op.equality_key(), len(inputs)]
        # A comprehension would take longer for one or two entries, and this runs for every node.
        for value in inputs:
            key.append(None if value is None else id(value.type))  # noqa: PERF401
        for value in node.outputs:
            key.append(id(declared[value]))  # noqa: PERF401
        return tuple(key)

    def _known_types(self, key: tuple[Any, ...], node: Node) -> list[ValueType] | None:
        """Return the output types of an earlier node whose key is equal to `key`.

        Such a node has an equal operation and input types. Returns None if there was none, or if
        the types may depend on elements of the inputs.
        """
        try:
            known = self._known.get(key)
        except TypeError:  # an attribute without a hash
            return None
        if known is None or self._depends_on_values(node, looked=known.looked):
            return None
        return known.types

    def _keep_types(self, key: tuple[Any, ...], node: Node, args: NodeArguments) -> None:
        """Keep the output types of `node`, so that equal operations need not be inferred again.

        Types that depend on elements of the inputs are not kept.
        """
        outputs = node.outputs
        if self._depends_on_values(node, looked=args.looked):
            return
        if any(value in self._constants or value in self._dims for value in outputs):
            return
        with suppress(TypeError):  # an attribute without a hash
            found = [value.type for value in outputs]
            kept = args.types, [self._declared[value] for value in outputs]
            self._known[key] = _Known(found, kept, looked=args.looked)

    def _depends_on_values(self, node: Node, *, looked: bool) -> bool:
        """Return whether the output types of `node` may depend on elements of its inputs.

        This is so if all inputs are constants, because such a node is folded. It is also so if an
        input holds known dimensions, or if an input is constant and `looked` is true, that is, the
        inference of the operation asked for elements.
        """
        dims, constants = self._dims, self._constants
        for value in node.inputs:
            if value is None:
                continue
            # This is `_may_be_constant` written out, because calling it would take most of the time
            # of this loop.
            is_constant = constants.get(value) is not None or isinstance(
                value.producer.op, Constant
            )
            if value in dims or (looked and is_constant):
                return True
            if not (looked or is_constant):
                return False
        return not looked

    def declare(self, value: Value, type: ValueType) -> None:
        """Use `type` for `value` if inference finds no type."""
        self._declared[value] = type
        value.type = _completed(value.type, type)

    def declared(self, value: Value) -> ValueType:
        """Return the type that `value` had before inference, as declared in a file for example."""
        return self._declared.get(value, value.type)

    def restore_declared(self) -> None:
        """Give every value the type that it had before inference.

        This object must not be used for inference afterwards.
        """
        for types in (self._declared, self._parameters):
            for value, type in types.items():
                value.type = type

    def hint(self, value: Value, type: ValueType) -> None:
        """Use the dimensions of `type` where inference leaves dimensions of `value` unknown."""
        if isinstance(type, TensorType) and type.shape.dims is not None:
            self._hints[value] = type

    def constant(self, value: Value) -> Array | None:
        """The value of `value` if it is a constant of at most `FOLD_LIMIT` elements, or None."""
        if value in self._constants:
            return self._constants[value]
        op = value.producer.op
        array = None
        if isinstance(op, Constant) and op.tensor.count <= FOLD_LIMIT and not op.tensor.is_absent:
            array = op.tensor.numpy()
        self._constants[value] = array
        return array

    def dims(self, value: Value) -> tuple[Dim, ...] | None:
        """Return the elements of an integer vector or scalar; an element may be unknown.

        Returns None if no element is known, or if `value` is anything else.
        """
        known = self._dims.get(value)
        if known is not None:
            return known
        type = value.type
        if isinstance(type, TensorType) and type.element in _NO_SIZES:
            return None
        array = self.constant(value)
        if array is None or array.dtype.kind not in "iu" or array.ndim > 1:
            return None
        return tuple(int(item) for item in array.reshape(-1))

    def _fold(self, node: Node, args: NodeArguments) -> None:
        if node.bodies or not node.outputs:
            return
        partial = known_dims(node, args)
        if partial is not None:
            self._dims[node.outputs[0]] = partial
        if not node.op.pure or (not node.inputs and not node.op.can_run()):
            return
        if not all(v is None or self._may_be_constant(v) for v in node.inputs):
            self._fold_dims(node, partial)
            return
        inputs = [None if v is None else self.constant(v) for v in node.inputs]
        if any(v is not None and a is None for v, a in zip(node.inputs, inputs, strict=True)):
            self._fold_dims(node, partial)
            return
        if not all(_is_small(value.type) for value in node.outputs) or _reads_codes(node):
            return
        cost = bytes_to_fold(node, args.types)
        if cost is None or cost > FOLD_BYTES:
            return
        import numpy as np

        try:
            with np.errstate(all="ignore"):
                result = node.op.kernel_of_constants(len(node.outputs))(*inputs)
        except (
            Exception
        ):  # If a kernel raises, the value stays unknown, and running it reports the error.
            return
        results = result if isinstance(result, tuple) else (result,)
        for value, array in zip(node.outputs, results, strict=False):
            self._constants[value] = np.asarray(array)

    def _may_be_constant(self, value: Value) -> bool:
        """Return whether `constant` may return something: False if it certainly returns None.

        This is determined without reading weights.
        """
        return self._constants.get(value) is not None or isinstance(value.producer.op, Constant)

    def _fold_dims(self, node: Node, partial: tuple[Dim, ...] | None) -> None:
        if partial is None or not all(isinstance(dim, int) for dim in partial):
            return
        type = node.outputs[0].type
        if not isinstance(type, TensorType) or not type.element.is_integer:
            return
        import numpy as np

        shape = () if type.shape.rank == 0 else (len(partial),)
        try:
            array = np.array(partial, dtype=type.element.numpy()).reshape(shape)
        except (OverflowError, ValueError):
            # A product of sizes overflows the element type, or an output declared as a scalar has
            # several elements.
            return
        self._constants[node.outputs[0]] = array


def types_of(node: Node, args: NodeArguments) -> list[ValueType]:
    """Return the output types of a node's operation.

    Raises:
        InferenceError: when the operation, its attributes and its inputs contradict each other.
            Other exceptions of `infer` are converted to an InferenceError, because attributes and
            inputs in a file may have any value.
    """
    wrong = misfit(node)
    if wrong is not None:
        raise args.error(wrong.message, wrong.expected, wrong.found, kind=wrong.kind)
    try:
        node.op.check(args)
        types = node.op.infer(args)
    except NoAxisError as error:
        details = error.diagnostics[0]
        raise args.error(error.message, details.expected, details.found) from error
    except (IrloopError, MemoryError, RecursionError):
        raise
    except Exception as error:
        reason = plain_reason(error) or f"inputs of the types {', '.join(map(str, args.types))}"
        raise args.error("its attributes and inputs contradict each other", "", reason) from error
    for item in types:
        dims = item.shape.dims if isinstance(item, TensorType) else None
        if dims is None:
            continue
        if len(dims) > LARGEST_RANK:
            reason = str(len(dims))
            raise args.error("an output has too many dimensions", f"at most {LARGEST_RANK}", reason)
        for dim in dims:
            if isinstance(dim, int) and dim > LARGEST_SIZE:
                reason = str(dim)
                raise args.error("a size of an output is too large", str(LARGEST_SIZE), reason)
    return types


def known_dims(node: Node, args: NodeArguments) -> tuple[Dim, ...] | None:
    """The elements of an integer vector output, as far as they are known.

    Returns None for a vector that is too long to be a shape, or if no element is known.
    """
    type = node.outputs[0].type if node.outputs else UNKNOWN_TYPE
    count = type.shape.count() if isinstance(type, TensorType) else None
    if count is not None and count > FOLD_LIMIT:
        return None
    try:
        return node.op.infer_dims(args)
    except (IrloopError, MemoryError, RecursionError):
        raise
    except Exception:  # inference reports the error; without known elements nothing is lost
        return None


def _reads_codes(node: Node) -> bool:
    """Return whether an input of the node has the type nf4.

    Such an input is stored as codes, which a kernel would wrongly take for values.
    """
    types = (value.type for value in node.inputs if value is not None)
    return any(isinstance(t, TensorType) and t.element is ElementType.NF4 for t in types)


def _is_small(type: ValueType) -> bool:
    if not isinstance(type, TensorType) or type.element is ElementType.DYNAMIC:
        return False
    count = type.shape.count()
    return count is not None and count <= FOLD_LIMIT


def _completed(inferred: ValueType, declared: ValueType) -> ValueType:
    if not isinstance(inferred, TensorType):
        return inferred
    if inferred == UNKNOWN_TYPE:
        return declared
    if not isinstance(declared, TensorType):
        return inferred
    element, shape = inferred.element, inferred.shape
    if element is ElementType.DYNAMIC:
        element = declared.element
    if shape == UNKNOWN_SHAPE:
        shape = declared.shape
    return TensorType(element, shape)
