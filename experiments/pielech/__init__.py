"""Pielech 2004 (Raindrop): adaptive scheduling."""

from headgate.reproduction import Document

DOCUMENT = Document(
    "pielech",
    "Pielech 2004 (Raindrop)",
    "Costs and selectivities of its two query plans are in a figure that is not printed, and its charts have no "
    "numbers: both are chosen (`workloads/raindrop-filters.toml`, `raindrop-join.toml`), and only who is better "
    "than whom can be compared. Calibrated on figure 6.2: queues build up in bursts, so that there is as much to do "
    "as can be done, and filters before the join are cheap and keep little. Round robin takes the train of all "
    "others (section 4.1), no time slice. Scores decay by 0.95 a second, which is not printed.",
)
