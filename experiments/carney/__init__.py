"""Carney 2005: Aurora's scheduling, and the freshness of copies."""

from headgate.reproduction import Document

DOCUMENT = Document(
    "carney",
    "Carney 2005 (Aurora)",
    "The document prints the costs of boxes, but neither what a call of a box, a run and a decision of "
    "the scheduler cost, nor the rates of most experiments. Calibrated once, on figure 4.15 with table "
    "4.5: 1000 paths of ten boxes of 5 us are full at 4500 tuples a second, which leaves about 165 us for "
    "the overheads of a path (15 us for a run and 15 us for each of its calls; that both cost the same is "
    "a guess), and fixed-priority spends 7.5 % of the time on decisions at 4000 tuples a second (45 ns "
    "for everything that is computed or compared, as docs/decisions/0007-readings.md counts it). All "
    "other experiments of chapters 3 and 4 keep these numbers. The document's scheduler sorts all boxes "
    "that can run at every decision, so its policies run with order=sorted. Rates that are not printed "
    "are said with each experiment.",
)
