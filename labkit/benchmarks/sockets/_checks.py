"""What is wrong with a spec of a stream, as a sentence."""

from labkit.spec import Spec


def stream(spec: Spec) -> str:
    """Say what no tool can do: messages of nothing, fewer streams than one, a rate below 0."""
    if not spec.size:
        return "size=0, but a call sends at least 1 B. Set size=65536."
    values = spec.values
    if values["streams"] < 1:
        return f"streams={values['streams']}, but there must be at least 1. Set streams=1."
    if values.get("offered", 0) < 0:
        return f"offered={values['offered']}, but it must be a rate above 0, or 0 for no limit. Set offered=0."
    return ""
