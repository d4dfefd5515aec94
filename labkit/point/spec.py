"""What to measure (`Spec`) and how much effort to spend on it (`Effort`).

Both are frozen dataclasses. Equal specs mean equal work. Effort never changes what one iteration does,
so it is not part of a spec's identity.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, get_args

from labkit.errors import SpecError
from labkit.point import ranges, units, validation_messages

if TYPE_CHECKING:
    import typing_extensions
    from pydantic import TypeAdapter  # as in `validated`
    from typing_extensions import TypeIs

    # `Spec` alone is a spec of any benchmark: mypy lets nobody read an option of it
    Options = typing_extensions.TypeVar("Options", covariant=True, default=object)
else:
    Options = TypeVar("Options", covariant=True)  # a rank loads the standard library and numpy only

Scalar = str | int | float | bool | None
T = TypeVar("T")
BENCHMARK = re.compile(r"[A-Za-z]\w*\.[A-Za-z]\w*", re.ASCII)  # it becomes the name of a folder
Keep = Literal["auto", "all", "extremes"]
KEEP: tuple[str, ...] = get_args(Keep)
SESSIONS, APART = 6, 600.0  # that a schedule has if nothing else is said, and s from one to the next
BINDINGS = ("auto", "core", "socket", "none")
_MOST = 2**63  # a larger number is not a count
STRICT: Any = {"extra": "forbid"}  # pydantic's setting for nested dataclasses: no unknown keys
_IF_SET: Mapping[str, Any] = {"bind": "auto", "environment": {}}  # in metadata and fingerprints only with other values


class NotStatedError(SpecError, AttributeError):
    """Unchecked options lack a requested one."""


class Given:
    """Options as a command line, a file or a log gave them: plain values that no benchmark has checked.

    They are attributes, so code that reads checked options can read options of stored points. The object is frozen.
    """

    def __init__(self, values: Mapping[str, Scalar] | Iterable[tuple[str, Scalar]] = ()) -> None:
        vars(self).update(sorted((str(name), value) for name, value in dict(values).items()))

    if not TYPE_CHECKING:  # mypy would take it for any option

        def __getattr__(self, name: str) -> Scalar:
            raise NotStatedError(f"no option {name!r} is stated. Stated are: {sorted(vars(self))}.")

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to option {name!r}")

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Given) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(vars(self).items()))

    def __repr__(self) -> str:
        return f"Given({vars(self)})"


@cache
def _in_order(kind: type) -> tuple[str, ...]:
    """Names of the options of a class, sorted."""
    return tuple(sorted(_fields(kind)))


def _fields(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def has(options: object, kind: type[T]) -> TypeIs[T]:
    """Whether options belong to a class; for unchecked options, whether they state all that the class itself declares.

    Unlike ``isinstance`` it gives one answer for a point that is measured and for the same point read from its file.
    """
    if isinstance(options, Given):
        return all(name in vars(options) for name in kind.__annotations__ or _fields(kind))
    return isinstance(options, kind)


_NOTHING = Given()


@dataclass(frozen=True, kw_only=True)
class Spec(Generic[Options]):
    """One measurement point.

    `labkit.benchmarks.resolve` checks the options and makes them the frozen dataclass that the benchmark's file
    declares, so that ``spec.options.window`` reads one. Before that, and in stored points, they are as given (`Given`).

    Parameters
    ----------
    benchmark : ``family.name``, as ``labkit list`` prints it.
    size : size of one message, request or record, B.
    ranks : number of ranks; 1 for a tool.
    ppn : ranks per host (default: the launcher decides).
    hosts : hosts to run on, each as ``HOST`` or ``HOST:SLOTS`` (default: this machine, or the hosts of the job).
    launcher : program that starts the ranks: ``auto`` (the first installed one), ``openmpi``, ``mpich``, ``intelmpi``,
        ``srun``, or the folder of an MPI installation.
    transport : path of the messages: ``auto``, ``shm``, ``tcp``; for MPI also ``rc`` or ``ud``, over UCX and RDMA.
    device : network device to use (default: the library decides).
    testbed : where to run: ``local``, or an emulated network as ``NAME[:ARG][,key=value…]``.
    options : the benchmark's own options; a mapping is accepted.
    bind : bind each rank to a ``core``, a ``socket`` or ``none``; ``auto`` binds to cores if there are enough.
    environment : environment variables of the ranks, such as MCA parameters, as sorted pairs; a mapping is accepted.
    """

    benchmark: str
    size: int = 8
    ranks: int = 2
    ppn: int = 0
    hosts: tuple[str, ...] = ()
    launcher: str = "auto"
    transport: str = "auto"
    device: str = ""
    testbed: str = "local"
    options: Options = _NOTHING  # type: ignore[assignment]  # of a spec whose options are not known yet
    bind: str = "auto"
    environment: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.options, Mapping):
            object.__setattr__(self, "options", Given(self.options))
        elif not isinstance(self.options, Given) and not dataclasses.is_dataclass(self.options):
            raise SpecError(f"options={self.options!r}, but they must be a mapping. Set options={{'window': 4}}.")
        object.__setattr__(self, "hosts", tuple(self.hosts))
        object.__setattr__(self, "environment", _variables(self.environment))
        size: object = self.size
        if isinstance(size, str):
            object.__setattr__(self, "size", units.parse_size(size))
        for name in ("size", "ranks", "ppn"):
            ranges.check(name, getattr(self, name))
        if self.bind not in BINDINGS:
            raise SpecError(f"bind={self.bind!r}, but it must be one of {', '.join(BINDINGS)}. Set bind=auto.")
        if not BENCHMARK.fullmatch(self.benchmark):
            raise SpecError(f"benchmark={self.benchmark!r} is not of the form family.name. See 'labkit list'.")

    @property
    def family(self) -> str:
        """Family of the benchmark, the part before the dot."""
        return self.benchmark.partition(".")[0]

    @property
    def values(self) -> dict[str, Any]:
        """The benchmark's own options by name, sorted: for code that treats options as data."""
        values = vars(self.options)
        if isinstance(self.options, Given):
            return dict(values)
        return {name: values[name] for name in _in_order(cast("type", type(self.options)))}

    def count(self, name: str, missing: int = 1) -> int:
        """Return an option that counts something; 0 if what a file or a log gave is not a count.

        Parameters
        ----------
        name : name of the option.
        missing : what is returned if it is not given.
        """
        value = self.values.get(name)
        if value is None:
            return missing
        return value if type(value) is int and 0 < value < _MOST else 0

    def of(self, kind: type[T]) -> Spec[T]:
        """This spec, typed with the options of a class, for code that knows which benchmarks it handles.

        Raises
        ------
        SpecError
            If they belong to another class.
        """
        if not isinstance(self.options, kind | Given):
            raise SpecError(f"{self.benchmark} has no options of {kind.__module__}.{kind.__qualname__}.")
        return cast("Spec[T]", self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec):
            return NotImplemented
        same = _WITHOUT_OPTIONS(self) == _WITHOUT_OPTIONS(other)
        return same and vars(self.options) == vars(other.options)  # by value, checked or not

    def __hash__(self) -> int:
        return hash((_WITHOUT_OPTIONS(self), frozenset(vars(self.options).items())))

    def replace(self, **changes: Any) -> Spec[Options]:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def sized(self, size: int) -> Spec[Options]:
        """A copy with a size that was checked when it was measured: many times as fast as `replace`."""
        if size == self.size:
            return self
        other = copy.copy(self)
        object.__setattr__(other, "size", size)
        return other

    def having(self, options: T) -> Spec[T]:
        """A copy with options that are an object of their class: many times as fast as `replace`."""
        other = cast("Spec[T]", copy.copy(self))
        object.__setattr__(other, "options", options)
        return other

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `from_dict` reverses it. Omits fields of `_IF_SET` that are not set."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        values |= {"hosts": list(self.hosts), "options": self.values, "environment": dict(self.environment)}
        return {name: value for name, value in values.items() if name not in _IF_SET or value != _IF_SET[name]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Spec:
        """Make a spec from the result of `as_dict`; refuses unknown keys."""
        unknown = set(values) - {f.name for f in dataclasses.fields(cls)}
        if unknown:
            raise SpecError(
                f"spec has unknown keys {sorted(unknown)}. Known: {[f.name for f in dataclasses.fields(cls)]}."
            )
        return cls(**values)

    @property
    def setting(self) -> dict[str, str]:
        """How the work is done, by name: settings that do not change the work."""
        plain = {name: str(getattr(self, name)) for name in ("launcher", "transport", "device", "ppn", "bind")}
        return plain | {"hosts": ",".join(self.hosts)} | {f"env.{name}": value for name, value in self.environment}

    @property
    def work(self) -> Spec[Options]:
        """The spec without its setting. Comparable specs have equal work."""
        return self.replace(launcher="auto", transport="auto", device="", ppn=0, bind="auto", hosts=(), environment=())

    def fingerprint(self, identity: Mapping[str, str]) -> str:
        """Sixteen hex digits that identify this work on this system.

        Parameters
        ----------
        identity : what the numbers depend on beside the spec: MPI library or tool with its version, CPU
            model, network interface (`labkit.host.identity`).
        """
        import hashlib  # inside the function: a rank imports this module and should open few files

        text = json.dumps([self.as_dict(), dict(sorted(identity.items()))], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        shown = [units.format_size(self.size), self.transport if self.transport != "auto" else ""]
        if self.family == "mpi":
            shown.append(f"{self.ranks} ranks")
        shown += [f"{key}={value}" for key, value in self.values.items() if value not in (None, "")]
        return f"{self.benchmark} " + ", ".join(part for part in shown if part)


_WITHOUT_OPTIONS = operator.attrgetter(*(field.name for field in dataclasses.fields(Spec) if field.name != "options"))


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long to measure a point, and in how many launches.

    Parameters
    ----------
    iterations : time exactly N iterations (default: the stop rule decides).
    warmup : run N untimed iterations before each timed chunk (default: the benchmark's, as in OSU's).
    launches : repeat each point in N launches, which are fresh starts of MPI; a 95 % interval needs 6.
    sessions : spread the launches over N sessions, which are groups in time; with 6 or more, the interval is over
        sessions (default: no sessions; with spread, 6, or one per launch if there are fewer).
    spread : time from the first session to the last, such as 2h (default: 10 minutes between two sessions).
    ci : stop a launch when the interval of its median is narrower than this fraction of the median.
    time_cap : time each point for at most S seconds per launch.
    time_limit : stop a start or a point that makes no progress for S seconds.
    seed : seed of the random order of points.
    keep : samples to keep: ``all``; ``extremes`` of each iteration over ranks and a histogram of each rank, beside
        every sample of some ranks; ``auto``, all up to 64 ranks and extremes above.
    """

    iterations: int | None = None
    warmup: int | None = None
    launches: int = 6
    ci: float = 0.02
    time_cap: float = 2.0
    time_limit: float = 60.0
    seed: int = 1
    keep: Keep = "auto"
    sessions: int | None = None
    spread: str = ""

    def __post_init__(self) -> None:
        if self.keep not in KEEP:
            raise SpecError(f"keep={self.keep!r}, but it must be one of {', '.join(KEEP)}. Set keep=auto.")
        for name in (one.name for one in dataclasses.fields(self) if one.name not in ("keep", "spread")):
            if getattr(self, name) is not None or name not in ("iterations", "warmup", "sessions"):
                ranges.check(name, getattr(self, name))
        if self.spread:
            ranges.check("spread", units.parse_duration(self.spread, word="spread="))
        sessions = self.schedule[0]
        if sessions > self.launches:
            raise SpecError(
                f"sessions={sessions}, but launches={self.launches}, and each session needs a launch. "
                f"Set launches={sessions}."
            )
        if self.spread and sessions == 1:
            given = f"sessions={self.sessions}" if self.sessions else f"launches={self.launches}"
            raise SpecError(
                f"spread={self.spread}, but {given} leaves nothing to spread. Set launches=6 and sessions=6."
            )

    @property
    def schedule(self) -> tuple[int, float]:
        """Number of sessions, and the time between their starts, s; one session without a schedule."""
        sessions = self.sessions or (min(self.launches, SESSIONS) if self.spread else 1)
        if sessions == 1:
            return 1, 0.0
        return sessions, units.parse_duration(self.spread) / (sessions - 1) if self.spread else APART

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, with the schedule if there is one."""
        values = dataclasses.asdict(self)
        return {name: value for name, value in values.items() if value or name not in ("sessions", "spread")}


@dataclass(frozen=True)
class Reported:
    """A statistic that a tool computed; never a sample.

    Parameters
    ----------
    name : metric as `columns` names it, with its unit (``latency_us``), or the tool's own word for others.
    unit : unit of `value`.
    statistic : ``p50``, ``p99``, ``mean``, ``min``, ``max``, ``total``…
    value : in `unit`.
    rank : rank or stream it belongs to, if there are several.
    t : time since the start, s, for values over time.
    labels : further coordinates, such as ``file_size_B`` in iozone's tables.
    """

    name: str
    unit: str
    statistic: str
    value: float
    rank: int | None = None
    t: float | None = None
    labels: Mapping[str, Scalar] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain values without the empty ones."""
        return {k: v for k, v in dataclasses.asdict(self).items() if v is not None and v != {}}


def validated(cls: type[T], values: Mapping[str, Any], *, what: str) -> T:
    """Make a frozen dataclass from text or plain values, and check them strictly.

    Parameters
    ----------
    cls : dataclass to make.
    values : field → value; strings are converted to the field's type.
    what : how the error calls it, such as ``mpi.latency``.

    Raises
    ------
    SpecError
        For an unknown key, a value of the wrong type, or one outside its choices; the message names all problems.
    """
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    names = [f.name for f in fields]
    unknown = [key for key in values if key not in names]
    if unknown:
        raise SpecError(validation_messages.unknown(what, str(unknown[0]), names))
    if all(_is_default(f, values) for f in fields):
        return cls()
    from pydantic import ValidationError  # pydantic and its adapter take 0.1 s of each process

    try:
        made = cast("T", _adapter(cast("type", cls)).validate_python(dict(values)))
    except ValidationError as error:
        raise SpecError(validation_messages.text(what, cls, error.errors())) from error
    ranges.finite(what, {name: getattr(made, name) for name in names})
    return made


def _is_default(field: dataclasses.Field[Any], values: Mapping[str, Any]) -> bool:
    """Whether a field is left out, or has the very value that it has if it is left out."""
    if field.name not in values:
        return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    value = values[field.name]
    return type(value) in (str, int, float, bool) and type(value) is type(field.default) and value == field.default


@cache
def _adapter(cls: type) -> TypeAdapter[Any]:
    """Pydantic's adapter for a dataclass, cached because making it takes longer than using it."""
    from pydantic import TypeAdapter  # as in `validated`

    return TypeAdapter(cls)


def _variables(settings: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Environment variables as sorted pairs of text."""
    pairs = settings.items() if isinstance(settings, Mapping) else settings
    variables = tuple(sorted((str(name), str(value)) for name, value in pairs))
    wrong = [name for name, _ in variables if not name.isidentifier()]
    if wrong:
        raise SpecError(f"environment: {wrong[0]!r} is not the name of a variable. Write it like OMPI_MCA_btl.")
    return variables


def sweep(benchmark: str, *, sizes: str | int | Iterable[int] = "1:4Mi", **fields: Any) -> list[Spec]:
    """Specs for the Cartesian product of all arguments given as lists.

    Parameters
    ----------
    benchmark : ``family.name``.
    sizes : ``MIN:MAX`` in powers of two, or a list.
    fields : fields of `Spec`, variables as ``env.NAME``, or options of the benchmark; a list or tuple makes another
        axis. `labkit.measure` takes the points of a launch in turn, so that they compare fairly.

    Examples
    --------
    >>> len(sweep("mpi.latency", sizes="1:8", transport=["shm", "tcp"]))
    8
    >>> [spec.setting["env.UCX_TLS"] for spec in sweep("mpi.latency", sizes=8, **{"env.UCX_TLS": ["tcp", "sm"]})]
    ['tcp', 'sm']
    """
    spec_fields = {f.name for f in dataclasses.fields(Spec)} - {"options", "hosts", "environment"}
    hosts, fixed = tuple(fields.pop("hosts", ())), dict(_variables(fields.pop("environment", ())))
    axes = {key: list(value) if isinstance(value, list | tuple) else [value] for key, value in fields.items()}
    axes["size"] = list(units.parse_sizes(sizes if isinstance(sizes, str | int) else tuple(sizes)))
    specs = []
    for values in itertools.product(*axes.values()):
        point = dict(zip(axes, values, strict=True))
        varied = {key.removeprefix("env."): point.pop(key) for key in list(point) if key.startswith("env.")}
        options = {key: point.pop(key) for key in list(point) if key not in spec_fields}
        point |= {"hosts": hosts, "environment": fixed | varied, "options": options}
        specs.append(Spec(benchmark=benchmark, **point))
    return specs
