"""Packets are lost in a separate network namespace (a container), while the recorder is outside; before, none is."""

import retransmits
from retransmits import around, injected  # noqa: F401, the network and what is done to it are the same

TITLE = "packets are lost in another network namespace"
FINDINGS = {"tcp-retransmits"}
LOADS = {name: tuple((lambda words=words: [*retransmits.INSIDE, *words()]) for words in pair) for name, pair in retransmits.LOADS.items()}
