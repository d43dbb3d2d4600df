"""Sharaf et al. 2006: continuous queries and their slowdown."""

from headgate.reproduction import Document

CHOSEN = """
    The queries are those of section 8: 500, each a select, a join with a stored table and a project of the same cost,
    1, 2, 4, 8 or 16 units, and the same selectivity for the first two, 0.1 to 1; every seed draws its own. Section 8
    takes selectivities from predicates on one attribute. Selects have one here and joins another, so that a query
    keeps the product of both shares: the range of priorities that section 9.2 prints, 1.2e5, needs that. The trace
    LBL-PKT-4 is not part of this repository; on/off sources with its rate and the burstiness of BC-pAug89 stand for
    it, on a slower clock. As in the document, the load is met for the packets that really come; how many do, it does
    not say, and here they are about 1000. How long a turn of RR lasts, it does not say either. That is what was
    calibrated, on one figure, RR's slowdown at load 0.7 in figure 5: a turn lasts as long as the dearest operator
    takes for a tuple. Figure 12 speaks against it: there turns of one tuple come nearer.
"""
DOCUMENT = Document("sharaf", "Sharaf et al. 2006", CHOSEN)
