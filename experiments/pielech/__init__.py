"""Pielech 2004 (Raindrop): adaptive scheduling."""

from headgate.reproduction import Document

DOCUMENT = Document(
    "pielech",
    "Pielech 2004 (Raindrop)",
    "Costs and selectivities of its two query plans are in a figure that is not printed, and its charts have no "
    "numbers: both are chosen (`workloads/raindrop-filters.toml`, `raindrop-join.toml`), and only who is better than "
    "whom can be compared. Calibrated on figure 6.2: queues build up in bursts, so bursts ask for more than there is. "
    "The time slice of round robin is 50 ms, about a train, and scores decay by 0.95 a second: neither is printed.",
)
