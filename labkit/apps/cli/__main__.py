"""``python -m labkit.apps.cli`` is ``labkit``; scripts of jobs that are still queued may use it."""

import sys

from labkit.__main__ import main

sys.exit(main())
