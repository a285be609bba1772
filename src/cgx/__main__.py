"""``python -m cgx``."""

import os
import sys

# Python puts the current folder first: a job's own ``typer.py`` or ``json.py`` would be imported, and so run.
if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from cgx.cli import main

sys.exit(main())
