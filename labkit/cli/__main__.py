"""``python -m labkit.cli`` is ``labkit``: scripts of batch jobs that wait may name it."""

import sys

from labkit.__main__ import main

sys.exit(main())
