"""A small reader of POSIX/bash scripts: enough to see which program a launch script starts. Nothing is executed."""
