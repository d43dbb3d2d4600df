"""Sharaf et al. 2006: continuous queries and their slowdown."""

from headgate.reproduction import Document

CHOSEN = """
    The queries are those of section 8: 500, each a select, a join with a stored table and a project of the same cost,
    1, 2, 4, 8 or 16 units, and the same selectivity for the first two, 0.1 to 1; every seed draws its own. Section 8
    takes both selectivities from predicates on one attribute, but what it prints elsewhere needs queries whose tuples
    pass both with the product of the two: a range of BSD's priorities of about 1.2e5 (section 9.2; 1.5e5 at most
    here, and 1.6e4 if whoever passes the select passed the join too), and a response time of HNR above HR's (figure
    6; below it if so). So outcomes are drawn independently. The trace LBL-PKT-4 is not part of this repository;
    on/off sources with its rate and the burstiness of BC-pAug89 stand for it. As in the document, the load is met for
    the packets that really come. How many do, it does not say: the norms and means of its table 2 together mean a few
    hundred; here they are about 1000. How long a turn of RR lasts, it does not say either. That is what was
    calibrated, on one figure, RR's slowdown at load 0.7 in figure 5: a turn lasts as long as the dearest operator
    takes for a tuple. With turns of one tuple, HNR would be 96 % below RR there instead of 74 %.
"""
DOCUMENT = Document("sharaf", "Sharaf et al. 2006", CHOSEN)
