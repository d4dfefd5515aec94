"""RDMA verbs by hand: thin objects over pyverbs that teach what they do, and timed loops made of them.

Runs under any interpreter that has pyverbs (Debian's python3-pyverbs on the system's Python) and loads nothing else::

    from labkit.verbs.objects import Device
    with Device("mlx5_0") as device:
        memory = device.memory(4096)
        queue = device.queue(16)
        pair = device.pair("RC", queue, depth=16)

`labkit.verbs.objects` has the objects and `pairs` their queue pairs, `meeting` the exchange of addresses over TCP,
`ends` one end of a connection, `loops` the loops of two, `costs` what one end pays alone, `scenarios` whole small
programs, `selftest` every operation with its bytes checked.
As a program (``__main__``) it runs one end of a point for `labkit.tools.pyverbs`.
"""
