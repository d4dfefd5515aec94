"""``python -m labkit.cli`` is ``labkit``."""

import sys

from labkit.cli import main

sys.exit(main())
