"""The vocabularies: for each dialect one class whose methods emit its operations.

Whoever makes graphs takes the verbs from here and states only how a node is made: conversion rules,
passes and faults. A verb chooses the operation and the version that the opset has.
"""
