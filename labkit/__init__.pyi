"""Types of the public names, which `__init__.py` imports when they are first used."""

from labkit.apps import notebook as notebook
from labkit.apps import teaching as teaching
from labkit.apps.loading import load as load
from labkit.errors import LabkitError as LabkitError
from labkit.errors import LabkitWarning as LabkitWarning
from labkit.point.spec import Effort as Effort
from labkit.point.spec import Spec as Spec
from labkit.point.spec import sweep as sweep
from labkit.run.measuring import measure as measure
from labkit.store.campaign import Campaign as Campaign

__version__: str
