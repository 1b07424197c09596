"""Linear models and support vector regression (domain ai.onnx.ml)."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.features import MlOp
from irloop.dialects.onnx.trees import classified, known_transform, rows_of
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = ["LinearClassifier", "LinearRegressor", "SVMRegressor"]

SIMILARITIES = ("LINEAR", "POLY", "RBF", "SIGMOID")


def _divided(args: Arguments, count: int, rows: int) -> None:
    """Coefficients are one for each row and feature.

    Raises:
        InferenceError: when they are another number.
    """
    dims = args.shape(0).dims
    features = dims[-1] if dims else None
    if rows < 1 or count % rows:
        raise args.error("coefficients do not fit", f"a multiple of {rows}", str(count))
    if isinstance(features, int) and count != rows * features:
        raise args.error("coefficients do not fit", f"{rows} x {features}", str(count))


class LinearRegressor(MlOp, type="LinearRegressor", since=1, inputs=1):
    """Weighted sums of features for each target, as f32 (LinearRegressor-1)."""

    coefficients: tuple[float, ...] = ()
    intercepts: tuple[float, ...] = ()
    post_transform: str = "NONE"
    targets: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        known_transform(args, self.post_transform)
        _divided(args, len(self.coefficients), self.targets)
        return [TensorType(ElementType.F32, Shape((rows_of(args), self.targets)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.linear_models.regressor(
            self.coefficients, self.intercepts, self.targets, self.post_transform
        )


class LinearClassifier(MlOp, type="LinearClassifier", since=1, inputs=1, outputs=2):
    """The label of the best weighted sum, and the scores as f32 (LinearClassifier-1).

    One row of coefficients for two labels scores the second one, which wins above zero.
    """

    coefficients: tuple[float, ...]
    classlabels_ints: tuple[int, ...] = ()
    classlabels_strings: tuple[str, ...] = ()
    intercepts: tuple[float, ...] = ()
    multi_class: int = 0
    post_transform: str = "NONE"

    def infer(self, args: Arguments) -> list[ValueType]:
        known_transform(args, self.post_transform)
        labels = self.classlabels_ints or self.classlabels_strings
        _divided(args, len(self.coefficients), self.rows)
        if self.rows != len(labels) and (self.rows, len(labels)) != (1, 2):
            raise args.error("intercepts do not fit the labels", str(len(labels)), str(self.rows))
        return classified(args, labels)

    @property
    def rows(self) -> int:
        """The number of scores: as many as there are intercepts, or else labels."""
        labels = self.classlabels_ints or self.classlabels_strings
        return len(self.intercepts) or len(labels)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.linear_models.classifier(
            self.coefficients,
            self.intercepts,
            kernels.labels.array_of(self.classlabels_ints or self.classlabels_strings),
            self.rows,
            self.post_transform,
        )
        return run if n_outputs > 1 else lambda x: run(x)[0]


class SVMRegressor(MlOp, type="SVMRegressor", since=1, inputs=1):
    """Likeness to support vectors, weighted and summed, as f32 [N, 1] (SVMRegressor-1).

    `kernel_params` are gamma, coef0 and degree. Without support vectors it is linear.
    """

    coefficients: tuple[float, ...] = ()
    kernel_params: tuple[float, ...] = ()
    kernel_type: str = "LINEAR"
    n_supports: int = 0
    one_class: int = 0
    post_transform: str = "NONE"
    rho: tuple[float, ...] = ()
    support_vectors: tuple[float, ...] = ()

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        known_transform(args, self.post_transform)
        if self.kernel_type not in SIMILARITIES:
            raise args.error(
                "kernel_type is not known", ", ".join(SIMILARITIES), self.kernel_type, kind="range"
            )
        if self.n_supports:
            if len(self.coefficients) != self.n_supports:
                found = str(len(self.coefficients))
                raise args.error("coefficients do not fit", str(self.n_supports), found)
            _divided(args, len(self.support_vectors), self.n_supports)
        else:
            _divided(args, len(self.coefficients), 1)
        return [TensorType(ElementType.F32, Shape((rows_of(args), 1)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.support_vectors.regressor(
            kernels.support_vectors.similarity(self.kernel_type, self.kernel_params),
            self.support_vectors,
            self.coefficients,
            self.rho,
            count=self.n_supports,
            one_class=self.one_class != 0,
            transform=self.post_transform,
        )
