"""Options that all services share, and their check."""

from labkit.benchmarks import Ends
from labkit.options.services import Load
from labkit.point.spec import Spec

ENDS = Ends(where="all", transports=True)

MOST = {"leaves": 64, "clients": 256, "records": 1_000_000, "replicas": 64, "users": 5000, "items": 5000}


def check(spec: Spec[Load]) -> str:
    """Say what no service can do; empty if nothing."""
    values = spec.values
    if not 0 < spec.options.load <= 100_000:
        return f"load={spec.options.load:g}, but it must be above 0 and at most 100000 per second. Set load=200."
    for name, most in MOST.items():
        if name in values and not 1 <= values[name] <= most:
            return f"{name}={values[name]}, but it must be 1 to {most}. Set {name}=1."
    if values.get("records", values.get("leaves", 0)) < values.get("leaves", 0):
        return f"records={values['records']}, but each leaf needs one. Set records={values['leaves']} or more."
    if spec.transport not in ("auto", "tcp", "unix"):
        return f"transport={spec.transport}, but services listen on tcp or unix. Set transport=tcp."
    return ""
