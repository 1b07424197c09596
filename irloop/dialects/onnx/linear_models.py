"""Linear models and support vector machines (domain ai.onnx.ml)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.features import MlOp
from irloop.dialects.onnx.trees import classified, known_transform, rows_of
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import Dim, ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.support_vectors import Duels

__all__ = ["LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor"]

SIMILARITIES = ("LINEAR", "POLY", "RBF", "SIGMOID")


def _divided(args: Arguments, count: int, rows: int) -> None:
    """Check that `count` coefficients form `rows` rows with one coefficient per input feature.

    The features are the last axis of input 0. If their number is unknown, `count` must only be a
    multiple of `rows`.

    Raises:
        InferenceError: when the number of coefficients does not fit.
    """
    dims = args.shape(0).dims
    features = dims[-1] if dims else None
    if rows < 1 or count % rows:
        raise args.error(
            "the coefficients cannot be divided into rows", f"a multiple of {rows}", str(count)
        )
    if isinstance(features, int) and count != rows * features:
        raise args.error(
            "there must be a coefficient for each row and feature",
            f"{rows} x {features}",
            str(count),
        )


class LinearRegressor(MlOp, type="LinearRegressor", since=1, inputs=1):
    """Weighted sum of the features for each target, as f32 (LinearRegressor-1)."""

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
    """The label with the largest score, and the scores as f32 (LinearClassifier-1).

    A score is a weighted sum of the features. With two labels and one row of coefficients, the
    score belongs to the second label, which wins if it is above zero.
    """

    coefficients: tuple[float, ...]
    classlabels_ints: tuple[int, ...] = ()
    classlabels_strings: tuple[str, ...] = ()
    intercepts: tuple[float, ...] = ()
    multi_class: int = 0
    post_transform: str = "NONE"

    def infer(self, args: Arguments) -> list[ValueType]:
        known_transform(args, self.post_transform)
        labels = self.labels
        _divided(args, len(self.coefficients), self.rows)
        if self.rows != len(labels) and (self.rows, len(labels)) != (1, 2):
            raise args.error(
                "there must be an intercept for each label", str(len(labels)), str(self.rows)
            )
        return classified(args, labels)

    @property
    def labels(self) -> tuple[int, ...] | tuple[str, ...]:
        """The class labels."""
        return self.classlabels_ints or self.classlabels_strings

    @property
    def rows(self) -> int:
        """Number of scores per row: the number of intercepts or, if there are none, of labels."""
        return len(self.intercepts) or len(self.labels)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.linear_models.classifier(
            self.coefficients,
            self.intercepts,
            kernels.labels.array_of(self.labels),
            self.rows,
            self.post_transform,
        )
        return run if n_outputs > 1 else lambda x: run(x)[0]


class SVMRegressor(MlOp, type="SVMRegressor", since=1, inputs=1):
    """Weighted sum of similarities to support vectors, as f32 [N, 1] (SVMRegressor-1).

    `kernel_params` are gamma, coef0 and degree. Without support vectors the model is linear.
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
                count = str(len(self.coefficients))
                raise args.error(
                    "there must be a coefficient for each support vector",
                    str(self.n_supports),
                    count,
                )
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


class SVMClassifier(MlOp, type="SVMClassifier", since=1, inputs=1, outputs=2):
    """The class that wins most pairwise comparisons, and scores as f32 (SVMClassifier-1).

    The scores are those of the comparisons [N, pairs], or (-s, s) for two classes; with prob_a and
    prob_b they are probabilities [N, classes]. Without support vectors each class has a linear
    model.
    """

    classlabels_ints: tuple[int, ...] = ()
    classlabels_strings: tuple[str, ...] = ()
    coefficients: tuple[float, ...] = ()
    kernel_params: tuple[float, ...] = ()
    kernel_type: str = "LINEAR"
    post_transform: str = "NONE"
    prob_a: tuple[float, ...] = ()
    prob_b: tuple[float, ...] = ()
    rho: tuple[float, ...] = ()
    support_vectors: tuple[float, ...] = ()
    vectors_per_class: tuple[int, ...] = ()

    @property
    def labels(self) -> tuple[int, ...] | tuple[str, ...]:
        """The class labels."""
        return self.classlabels_ints or self.classlabels_strings

    def infer(self, args: Arguments) -> list[ValueType]:
        known_transform(args, self.post_transform)
        if self.kernel_type not in SIMILARITIES:
            raise args.error(
                "kernel_type is not known", ", ".join(SIMILARITIES), self.kernel_type, kind="range"
            )
        if len(self.labels) < 2:
            raise args.error("it needs at least two classes", "2", str(len(self.labels)))
        label, _ = [*classified(args, self.labels), None][:2]
        assert label is not None
        pairs = len(self.labels) * (len(self.labels) - 1) // 2
        width: Dim = len(self.labels)
        if self.vectors_per_class:
            self._check_duels(args, pairs)
            width = width if self.prob_a else max(pairs, 2)
        else:
            _divided(args, len(self.coefficients), len(self.labels))
            if not self.rho:
                raise args.error("rho is missing", "a number")
        scores = TensorType(ElementType.F32, Shape((rows_of(args), width)))
        return [label, scores][: args.n_outputs]

    def _check_duels(self, args: Arguments, pairs: int) -> None:
        """Check that the attributes of the pairwise comparisons have the right lengths.

        Raises:
            InferenceError: when a list does not have as many entries as the number of classes,
                support vectors or pairs of classes requires.
        """
        classes, vectors = len(self.labels), sum(self.vectors_per_class)
        if len(self.vectors_per_class) != classes or min(self.vectors_per_class) < 0:
            found = str(len(self.vectors_per_class))
            raise args.error(
                "vectors_per_class must have a count for each label", str(classes), found
            )
        _divided(args, len(self.support_vectors), vectors)
        wanted = (classes - 1) * vectors
        if len(self.coefficients) != wanted:
            raise args.error(
                "there must be a coefficient for each support vector and other class",
                str(wanted),
                str(len(self.coefficients)),
            )
        for name in ("rho", "prob_a", "prob_b"):
            count = len(getattr(self, name))
            if count != pairs and (name == "rho" or self.prob_a or self.prob_b):
                raise args.error(
                    f"{name} does not have one value per pair of classes", str(pairs), str(count)
                )

    def duels(self) -> Duels:
        """Collect the attributes that the kernel needs to compare each pair of classes."""
        support = kernels.support_vectors
        weights = support.duel_weights(self.coefficients, self.vectors_per_class)
        shares = (self.prob_a, self.prob_b) if self.prob_a else None
        return support.Duels(len(self.labels), weights, self.rho, shares)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        import numpy as np

        support, labels = kernels.support_vectors, kernels.labels.array_of(self.labels)
        if self.vectors_per_class:
            vectors = np.array(self.support_vectors, np.float32)
            run = support.classifier(
                support.similarity(self.kernel_type, self.kernel_params),
                vectors.reshape(sum(self.vectors_per_class), -1),
                self.duels(),
                labels,
                self.post_transform,
            )
        else:
            run = support.linear_classifier(
                self.coefficients, self.rho[0], labels, self.post_transform
            )
        return run if n_outputs > 1 else lambda x: run(x)[0]
