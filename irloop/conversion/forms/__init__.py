"""Small groups of operations that several conversions emit, by dialect and opset."""
