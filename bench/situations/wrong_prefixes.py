"""An imported number: a wrong prefix in an imported number."""

from bench.situations import Kind, Label, _imported
from labkit.models.bounds import Stated

KIND = Kind(
    words="a wrong prefix in an imported number",
    labels=(Label(_imported.STREAM, ("units",)),),
    source="recorded",
    cases=_imported.cases(1e3, 1e-3, 1e3, 1e-3),
    make=_imported.make,
    shown=_imported.shown,
    stated=Stated(link=_imported.LINK),
)
