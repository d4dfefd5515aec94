"""Solutions of the lab verbs_by_hand: a cell for each question."""

from labkit.apps import teaching

lab = teaching.begin("verbs_by_hand")
lab.measure(without_predictions=True)  # a teacher's dry run

# %% order
order = "RESET, INIT, post the receive, RTR, RTS, post the send"
lab.submit("order", order)

# %% peer
peer = "its queue pair's number, first packet number and address"
lab.submit("peer", peer)

# %% completions
completions = 2
lab.submit("completions", completions)

# %% longest
words = {
    "open_device_us": "open the device",
    "protection_domain_us": "protection domain",
    "memory_us": "register memory",
    "completion_channel_us": "completion channel",
    "completion_queue_us": "completion queue",
    "queue_pair_us": "make the queue pair, to INIT",
    "to_rtr_us": "INIT to RTR",
    "to_rts_us": "RTR to RTS",
    "address_handle_us": "address handle",
}
steps = {text: lab.results.median("verbs.setup", name) for name, text in words.items()}
longest = max(steps, key=steps.get)
lab.submit("longest", longest)

# %% share
share = 100 * (steps["INIT to RTR"] + steps["RTR to RTS"]) / sum(steps.values())
lab.submit("share", share)
