"""Source as bytes and syntax trees: a commit's blobs without a checkout, the work tree on request, plain folders."""

from cgx.indexer.source.base import Tree, blob_id
from cgx.indexer.source.opening import open_tree
from cgx.indexer.source.parse import Parsed, parse
from cgx.indexer.source.roots import find_module, installed_roots, module_name, source_roots

__all__ = ["Parsed", "Tree", "blob_id", "find_module", "installed_roots", "module_name", "open_tree", "parse", "source_roots"]
