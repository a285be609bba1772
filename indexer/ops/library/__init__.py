"""Ops of libraries without readable source (kernels, extensions): one opaque op each, with its result's shape where that is plain."""
