"""Find out why a program failed from its output: the first known cause with its remedy, and an excerpt."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEAD, TAIL, LINE = 8, 12, 400  # lines shown from the beginning and from the end, characters shown of a line
_RULE = re.compile(r"[\s\-=*_#.|~]*")  # lines that only decorate
_WORDS = re.compile(r"\b(error|fail(ed|s)?|fatal|cannot|could not|unable|denied|refused|not found|no such)\b", re.I)
_MORE = (
    "Raise the limit to the highest allowed, `ulimit -n $(ulimit -Hn)`, or ask for a higher hard limit. "
    "Then repeat the command."
)

# whether a second start would fail too, pattern of the line, remedy; the earliest line that matches is the cause
_KNOWN = (
    (True, r"ssh: Could not resolve hostname (?P<host>\S+?):",
     "Correct the name {host} in --hosts, or add it to /etc/hosts or ~/.ssh/config."),
    (True, r"(ssh: connect to host (?P<host>\S+) port \d+: .*|Connection to (?P<other>\S+) port \d+ timed out)",
     "Check that {host} is up and that `ssh {host} true` works from here."),
    (True, r"Permission denied \((publickey|password|gssapi|keyboard)",
     "Set up ssh without a password: ssh-copy-id HOST."),
    (True, r"Host key verification failed",
     "Connect once by hand, `ssh HOST true`, and accept the key."),
    (True, r"(unable to get host address for|could not resolve|getaddrinfo.*for) (?P<host>[\w.\-]+)",
     "Correct the name {host} in --hosts, or add it to /etc/hosts."),
    (True, r"There are not enough slots available",
     "Ask for fewer --ranks, or give more slots: --hosts NAME:SLOTS."),
    (True, r"All nodes which are allocated for this job are already filled",
     "Ask for fewer --ranks, or more --hosts."),
    (True, r"error while loading shared libraries: (?P<host>\S+): cannot open shared object file: No such",
     "Install the library {host} on every host, or add its folder to LD_LIBRARY_PATH."),
    (False, r"cannot load MPI library|libmpi\S*: cannot open shared object",
     "Load your site's MPI module, or set MPI4PY_MPIABI."),
    (False, r"Too many open files|\bEMFILE\b|system limit exceeded on number of (pipes|network connections|files)",
     _MORE),
    (True, r"No module named '?labkit",
     "Install labkit at the same path on every host, or use a folder that all hosts share."),
    (True, r"(orted|prted|hydra_pmi_proxy|\S*/python\S*): (command not found|No such file or directory)",
     "Install the same MPI and labkit at the same paths on every host."),
    (True, r"A requested component was not found",
     "Correct the name of the component in OMPI_MCA_… (see `ompi_info`)."),
    (True, r"MPI_ERR_WIN: invalid window",
     "This MPI has no one-sided communication over this network. Set --transport tcp, or name a component of Open MPI "
     "that `ompi_info` lists: --factor env.OMPI_MCA_osc=ucx."),
    (False, r"No space left on device",
     "Free space there, or set TMPDIR to a folder with space."),
    (False, r"Cannot allocate memory|Out of memory|oom-kill",
     "Ask for fewer --ranks or smaller sizes."),
    (False, r"fork.*Resource temporarily unavailable",
     "Raise the limit of processes to the highest allowed, `ulimit -u $(ulimit -Hu)`, or ask for fewer --ranks."),
    (False, r"srun: error: (Unable to create step|Unable to allocate resources).*",
     "Ask for what the job has: see `squeue`, or submit with more --nodes."),
    (True, r"bind to (that )?would result in binding more processes than cpus",
     "Ask for fewer --ranks, or set --bind none."),
)  # fmt: skip


@dataclass(frozen=True)
class Cause:
    """The first cause of a failure.

    Parameters
    ----------
    line : line of the output that names it.
    remedy : what to do.
    lasting : whether a second start would fail in the same way.
    """

    line: str
    remedy: str
    lasting: bool


def known(text: str) -> Cause | None:
    r"""Return the first known cause that a line of an output names; None if no line does.

    Examples
    --------
    >>> known("---\nssh: Could not resolve hostname a: Name or service not known\nlost").remedy
    'Correct the name a in --hosts, or add it to /etc/hosts or ~/.ssh/config.'
    """
    for line in text.splitlines():
        for lasting, pattern, remedy in _KNOWN:
            if match := re.search(pattern, line, re.IGNORECASE):
                names = match.groupdict()
                host = names.get("host") or names.get("other") or "HOST"
                return Cause(line.strip()[:LINE], remedy.replace("{host}", host), lasting)
    return None


def first(text: str) -> str:
    """Return the most informative line of an output about a failure; empty if the output has no words.

    This is the line with a known cause, else the exception of a Python traceback, else the first line with a word for
    an error, else the last line.
    """
    if cause := known(text):
        return cause.line
    lines = [line.strip() for line in text.splitlines() if not _RULE.fullmatch(line)]
    if any(line.startswith("Traceback (most recent call last)") for line in lines):
        return lines[-1][:LINE]
    return next((line for line in lines if _WORDS.search(line)), lines[-1] if lines else "")[:LINE]


def excerpt(text: str) -> str:
    """Return the first and last lines of an output, and how many are omitted between them; drop decorative lines."""
    lines = [line.rstrip()[:LINE] for line in text.splitlines() if not _RULE.fullmatch(line)]
    omitted = len(lines) - HEAD - TAIL
    if omitted <= 1:
        return "\n".join(lines)
    return "\n".join([*lines[:HEAD], f"… {omitted} lines omitted …", *lines[-TAIL:]])
