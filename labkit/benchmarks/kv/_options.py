"""Options that the loops over key-value stores share, and their check."""

from labkit.benchmarks import Ends
from labkit.options.kv import Loop
from labkit.point.spec import Spec

ENDS = Ends(where="apart", transports=True)

FIELDS = 10  # of a record, as in YCSB's workload files
MOST = {"records": 10_000_000, "clients": 1000, "servers": 16, "server_threads": 64}


def check(spec: Spec[Loop]) -> str:
    """Say what no store can do; empty if nothing."""
    options, values = spec.options, spec.values
    if spec.size < FIELDS or spec.size % FIELDS:
        return (
            f"size={spec.size} B, but a record has {FIELDS} fields of equal length. Set a multiple of {FIELDS}, "
            "such as size=1000."
        )
    for name, most in MOST.items():
        least = 2 if name == "records" else 1
        if not least <= values[name] <= most:
            return f"{name}={values[name]}, but it must be {least} to {most}. Set {name}={least}."
    if options.workload == "E" and options.store == "memcached":
        return "workload=E scans, but memcached has no scan. Set store=redis, or another workload."
    if options.workload == "E" and options.servers > 1:
        return "workload=E scans the keys of one server. Set servers=1, or another workload."
    if spec.transport not in ("auto", "tcp", "unix"):
        return f"transport={spec.transport}, but a store listens on tcp or unix. Set transport=tcp."
    return ""
