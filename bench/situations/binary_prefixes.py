"""An imported number: MiB or GiB for MB or GB in an imported number."""

from bench.situations import Kind, Label, _imported
from labkit.models.bounds import Stated

KIND = Kind(
    words="MiB or GiB for MB or GB in an imported number",
    labels=(Label(_imported.STREAM, ("units",)),),
    source="recorded",
    cases=_imported.cases(1.048576, 1.073741824, 1.048576, 1.073741824),
    make=_imported.make,
    shown=_imported.shown,
    stated=Stated(link=_imported.LINK),
)
