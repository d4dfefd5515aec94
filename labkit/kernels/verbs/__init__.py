"""RDMA verbs by hand: thin objects over pyverbs that teach what they do, and timed loops made of them.

They need an interpreter that has pyverbs (Debian's python3-pyverbs on the system's Python) and nothing else::

    from labkit.kernels.verbs.objects import Device
    with Device("mlx5_0") as device:
        memory = device.memory(4096)
        queue = device.queue(16)
        pair = device.pair("RC", queue, depth=16)

`labkit.kernels.verbs.objects` has the objects, `meeting` the exchange of addresses over TCP, `ends` one end of a
connection, `loops` the timed loops of two ends, `costs` the costs of one end alone, `scenarios` small programs, and
`selftest` tries every operation and checks its bytes. As a program (``__main__``) it runs one end of a point for
`labkit.tools.pyverbs`.
"""
