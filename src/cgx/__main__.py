"""``python -m cgx``."""

import sys

from cgx.cli import main

sys.exit(main())
