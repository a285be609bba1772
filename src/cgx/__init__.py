"""cgx: a semantic code-graph indexer for PyTorch jobs. Reads code at a commit, runs nothing."""

__version__ = "0.1.0"
