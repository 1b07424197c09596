"""Classifiers and regressors of scikit-learn, LightGBM and XGBoost."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.wild.exporting import Recipe

__all__ = ["RECIPES"]

CLASSIFIERS = [
    "ensemble.RandomForestClassifier",
    "ensemble.GradientBoostingClassifier",
    "ensemble.HistGradientBoostingClassifier",
    "ensemble.ExtraTreesClassifier",
    "ensemble.AdaBoostClassifier",
    "ensemble.BaggingClassifier",
    "tree.DecisionTreeClassifier",
    "linear_model.LogisticRegression",
    "linear_model.SGDClassifier",
    "linear_model.RidgeClassifier",
    "linear_model.Perceptron",
    "svm.SVC",
    "svm.NuSVC",
    "svm.LinearSVC",
    "naive_bayes.GaussianNB",
    "naive_bayes.BernoulliNB",
    "neural_network.MLPClassifier",
    "neighbors.KNeighborsClassifier",
    "discriminant_analysis.LinearDiscriminantAnalysis",
    "discriminant_analysis.QuadraticDiscriminantAnalysis",
]
REGRESSORS = [
    "ensemble.RandomForestRegressor",
    "ensemble.GradientBoostingRegressor",
    "tree.DecisionTreeRegressor",
    "ensemble.HistGradientBoostingRegressor",
    "linear_model.LinearRegression",
    "linear_model.Ridge",
    "linear_model.Lasso",
    "linear_model.HuberRegressor",
    "svm.SVR",
    "svm.LinearSVR",
    "neural_network.MLPRegressor",
    "neighbors.KNeighborsRegressor",
    "gaussian_process.GaussianProcessRegressor",
    "linear_model.PoissonRegressor",
]
TRANSFORMERS = [
    "preprocessing.StandardScaler",
    "preprocessing.MinMaxScaler",
    "preprocessing.RobustScaler",
    "preprocessing.Normalizer",
    "preprocessing.PolynomialFeatures",
    "preprocessing.KBinsDiscretizer",
    "preprocessing.PowerTransformer",
    "decomposition.PCA",
    "decomposition.TruncatedSVD",
    "cluster.KMeans",
    "preprocessing.Binarizer",
    "impute.SimpleImputer",
    "preprocessing.MaxAbsScaler",
]
BOOSTED = [
    "lightgbm.LGBMClassifier",
    "lightgbm.LGBMRegressor",
    "lightgbm.LGBMRanker",
    "xgboost.XGBClassifier",
    "xgboost.XGBRegressor",
    "xgboost.XGBRFClassifier",
]
FEATURES = 5


def data(classes: int = 3) -> tuple[Any, Any, Any]:
    """Features, classes and a target."""
    random = np.random.default_rng(0)
    x = random.standard_normal((120, FEATURES)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] ** 2 + 0.3 * random.standard_normal(120)).astype(np.float32)
    return x, np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)), np.abs(y)


def _made(name: str) -> Any:
    from importlib import import_module

    module, _, kind = name.rpartition(".")
    package = module if module in ("lightgbm", "xgboost") else f"sklearn.{module}"
    cls = getattr(import_module(package), kind)
    names = set(cls().get_params())
    few = {"n_estimators": 5, "max_iter": 200, "max_depth": 3, "random_state": 0, "n_clusters": 3}
    few |= {"n_components": 2, "verbose": -1 if module == "lightgbm" else 0}
    own = {key: value for key, value in few.items() if key in names}
    if module == "preprocessing" or kind.endswith("DiscriminantAnalysis"):
        own = {}
    return cls(**own)


def sklearn_model(name: str, zipmap: bool, path: Path) -> None:
    """A fitted model of scikit-learn; a classifier ends in ZipMap unless told otherwise."""
    from skl2onnx import to_onnx

    x, classes, target = data()
    model = _made(name)
    if "Classifier" in name or name in CLASSIFIERS:
        model.fit(x, classes)
        options = None if zipmap else {id(model): {"zipmap": False}}
    else:
        model.fit(x, target)
        options = None
    _save(to_onnx(model, x[:1], options=options), path)


def pipeline(path: Path) -> None:
    """Numbers and texts, filled, scaled and encoded, in front of a classifier."""
    import pandas
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    x, classes, _ = data()
    words = np.array(["a", "bb", "c"])[np.arange(len(x)) % 3]
    table = pandas.DataFrame({"size": x[:, 0], "word": words})
    steps = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
            ("w", OneHotEncoder(handle_unknown="ignore"), ["word"]),
        ]
    )
    model = make_pipeline(steps, LogisticRegression()).fit(table, classes)
    types = [("size", FloatTensorType([None, 1])), ("word", StringTensorType([None, 1]))]
    _save(to_onnx(model, initial_types=types, options={"zipmap": False}), path)


def boosted(name: str, path: Path) -> None:
    """Boosted trees, written by onnxmltools."""
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType

    x, classes, target = data()
    model = _made(name)
    if name.endswith("Ranker"):
        model.fit(x, classes, group=[60, 60])
    else:
        model.fit(x, classes if "Classifier" in name else target)
    write = convert_lightgbm if name.startswith("lightgbm") else convert_xgboost
    types = [("input", FloatTensorType([None, FEATURES]))]
    _save(write(model, initial_types=types, target_opset=15), path)


def _save(model: Any, path: Path) -> None:
    import onnx

    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)


def _recipes() -> dict[str, Recipe]:
    warnings.simplefilter("ignore")
    found: dict[str, Recipe] = {}
    for name in (*CLASSIFIERS, *REGRESSORS, *TRANSFORMERS):
        found[f"sklearn/{name.split('.')[1]}"] = partial(sklearn_model, name, False)
    for name in CLASSIFIERS:
        found[f"sklearn/{name.split('.')[1]}-zipmap"] = partial(sklearn_model, name, True)
    for name in BOOSTED:
        found[f"boosted/{name.split('.')[1]}"] = partial(boosted, name)
    found["sklearn/pipeline"] = pipeline
    return found


RECIPES: dict[str, Recipe] = _recipes()
