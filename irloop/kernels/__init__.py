"""The kernels: pure NumPy functions from arrays to arrays, without graph types.

A family is imported when it is first used (``kernels.elementwise.add``), so that reading and
validating a model never loads NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irloop.kernels import activation as activation
    from irloop.kernels import attention as attention
    from irloop.kernels import bounds as bounds
    from irloop.kernels import color as color
    from irloop.kernels import comparison as comparison
    from irloop.kernels import convert as convert
    from irloop.kernels import convolution as convolution
    from irloop.kernels import correlation as correlation
    from irloop.kernels import ctc as ctc
    from irloop.kernels import deformable as deformable
    from irloop.kernels import detection as detection
    from irloop.kernels import detectron as detectron
    from irloop.kernels import elementwise as elementwise
    from irloop.kernels import embedding as embedding
    from irloop.kernels import features as features
    from irloop.kernels import gather as gather
    from irloop.kernels import generate as generate
    from irloop.kernels import geometry as geometry
    from irloop.kernels import images as images
    from irloop.kernels import labels as labels
    from irloop.kernels import linear_models as linear_models
    from irloop.kernels import losses as losses
    from irloop.kernels import matmul as matmul
    from irloop.kernels import multiclass_nms as multiclass_nms
    from irloop.kernels import ngrams as ngrams
    from irloop.kernels import nms as nms
    from irloop.kernels import normalization as normalization
    from irloop.kernels import padding as padding
    from irloop.kernels import pooling as pooling
    from irloop.kernels import precision as precision
    from irloop.kernels import prior_box as prior_box
    from irloop.kernels import proposals as proposals
    from irloop.kernels import quantize as quantize
    from irloop.kernels import random as random
    from irloop.kernels import rearrange as rearrange
    from irloop.kernels import recurrent as recurrent
    from irloop.kernels import reduction as reduction
    from irloop.kernels import region as region
    from irloop.kernels import reorder as reorder
    from irloop.kernels import resize as resize
    from irloop.kernels import roi as roi
    from irloop.kernels import roi_turned as roi_turned
    from irloop.kernels import rotated as rotated
    from irloop.kernels import sampling as sampling
    from irloop.kernels import scatter as scatter
    from irloop.kernels import scores as scores
    from irloop.kernels import search as search
    from irloop.kernels import sequence as sequence
    from irloop.kernels import shape as shape
    from irloop.kernels import signal as signal
    from irloop.kernels import slicing as slicing
    from irloop.kernels import special as special
    from irloop.kernels import support_vectors as support_vectors
    from irloop.kernels import text as text
    from irloop.kernels import trees as trees


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(name) from error
