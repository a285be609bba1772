"""One file for each command: its options and the call that does the work. Listed in ``cgx.cli.COMMANDS``.

A command parses nothing and decides nothing: heavy imports stand inside the function, so that help stays quick.
"""
