"""An imported number: bits for bytes in an imported number."""

from bench.situations import Kind, Label, _imported
from labkit.models.bounds import Stated

KIND = Kind(
    words="bits for bytes in an imported number",
    labels=(Label(_imported.STREAM, ("units",)),),
    source="recorded",
    cases=_imported.cases(8.0, 1 / 8, 8.0, 1 / 8),
    make=_imported.make,
    shown=_imported.shown,
    stated=Stated(link=_imported.LINK),
)
