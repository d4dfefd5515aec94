"""What the NAS kernels must compute, and on how many ranks: no ranks."""

import numpy as np
import pytest

from labkit import benchmarks
from labkit.benchmarks import ApplicationBenchmark
from labkit.benchmarks.compute import _nas
from labkit.errors import SpecError
from labkit.spec import Spec

NAMES = [f"compute.nas_{name}" for name in _nas.KERNELS]


def nas(name: str, ranks: int = 1, letter: str = "S") -> Spec:
    return benchmarks.resolve(Spec(benchmark=f"compute.nas_{name}", ranks=ranks, options={"npb_class": letter}))


def wrong(spec: Spec, *values: float) -> str:
    benchmark = benchmarks.get(spec.benchmark)
    assert isinstance(benchmark, ApplicationBenchmark)
    return benchmark.wrong(spec, np.array([*values] + [0.0] * (_nas.RESULTS - len(values))))


@pytest.mark.parametrize("letter", _nas.CLASSES)
def test_published_values_pass_and_others_fail(letter: str) -> None:
    zeta = _nas._MATRICES[letter][4]
    assert wrong(nas("cg", 1, letter), zeta * (1 + 9e-11)) == ""
    assert wrong(nas("cg", 1, letter), zeta * (1 + 2e-10)).startswith("zeta is")
    assert wrong(nas("cg", 1, letter), float("nan"))
    x, y = _nas._SUMS[letter]
    assert wrong(nas("ep", 1, letter), x * (1 - 9e-9), y) == ""
    assert "sum of Y" in wrong(nas("ep", 1, letter), x, y * (1 + 2e-8))


@pytest.mark.parametrize("letter", _nas.CLASSES)
def test_one_key_in_the_wrong_place_fails(letter: str) -> None:
    spec, keys = nas("is", 1, letter), 1 << _nas._KEYS[letter][0]
    ranks = [_nas._TESTS[letter].rank(test, round_) for round_ in range(1, 11) for test in range(5)]
    assert wrong(spec, *ranks, 0, keys) == ""
    assert "out of order" in wrong(spec, *ranks, 1, keys)
    assert "out of order" in wrong(spec, *ranks, 0, keys - 1)
    ranks[23] += 1
    assert "test key 3" in wrong(spec, *ranks, 0, keys)


def test_operations_are_counted_by_the_original_s_formulas() -> None:
    """Mop/s times seconds of outputs that NPB printed, within the digits of the time."""
    operations = {name: benchmarks.get(f"compute.nas_{name}").metrics["operations_Mops"] for name in _nas.KERNELS}
    assert operations["ep"](nas("ep", 1, "A")) == 2**29
    assert operations["is"](nas("is", 1, "A")) == 10 * 2**23
    assert operations["cg"](nas("cg", 1, "A")) == pytest.approx(1.50e9, rel=0.01)  # 1.50 Gop in NAS-95-020, table 3


@pytest.mark.parametrize(
    ("name", "ranks", "said"),
    [
        ("is", 3, "power of two. Set ranks=2 or 4"),
        ("cg", 6, "Set ranks=4 or 8"),
        ("is", 256, "at most 128. Set ranks=128"),
        ("ep", 257, "at most 256. Set ranks=256"),
    ],
)
def test_impossible_numbers_of_ranks_say_what_to_set(name: str, ranks: int, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        nas(name, ranks)


def test_one_rank_and_odd_numbers_where_they_are_possible() -> None:
    for name in NAMES:
        assert benchmarks.resolve(Spec(benchmark=name, ranks=1)).ranks == 1
    assert nas("ep", 3).ranks == 3
