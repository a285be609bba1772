"""Across commits: where an anchor of one commit stands in another."""
