"""Messages were sent with pauses, in which the processors sleep, and are told as sent back to back: measured."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Effort, Spec
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

_PACED, _TOLD, _SIZE = "sockets.under_load", _measured.ROUND_TRIP, 64
_EFFORT = Effort(launches=3, warmup=1, time_cap=0.5)
_BEFORE = "back-to-back.json"  # beside the samples: µs of a round trip back to back


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"message_rate": int(rate)} for rate in random.choice([20, 30, 50, 70, 100], 4, replace=False)]


def _spec() -> Spec:
    return Spec(benchmark=_TOLD, size=_SIZE, ranks=1, testbed=_measured.LINK, options={"tool": "sockperf"})


def _make(case: Parameters, folder: Path) -> Campaign:
    with tempfile.TemporaryDirectory() as place:
        usual = _measured.measured([_spec()], Path(place) / "usual", _EFFORT)
        stored = next(iter(usual.samples(_TOLD)))
        alone = 1e6 * _measured.typical(usual.samples(_TOLD))

        def told(one: Samples) -> Samples:
            if one.spec.benchmark != _PACED:
                return one
            keys = ("fingerprint", "cadence", "definition", "library", "engine")
            same = {key: stored.meta[key] for key in keys if key in stored.meta}
            return replace(one, spec=stored.spec, effort=stored.effort, meta={**one.meta, **same}, extras={})

        rate = {"message_rate": case["message_rate"]}
        paced = Spec(benchmark=_PACED, size=_SIZE, ranks=1, testbed=_measured.LINK, options=rate)
        true = _measured.measured(_measured.of_machine(), Path(place) / "true")
        _measured.measured([paced], true.path, _EFFORT)
        campaign = _measured.rewritten(true, folder, told)
    (folder / _BEFORE).write_text(json.dumps(alone))
    return campaign


def _shown(campaign: Campaign, case: Parameters) -> str:
    alone = json.loads((campaign.path / _BEFORE).read_text())
    paced = 1e6 * _measured.typical(campaign.samples(_TOLD))
    return _measured.above("µs of a round trip with pauses and back to back", paced, alone, 2.0)


KIND = Kind(
    words="messages with pauses, in which the processors sleep",
    labels=(Label(_TOLD, ("cadence",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
