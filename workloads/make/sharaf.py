"""The testbed of Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, where queries share operators."""

from __future__ import annotations

from random import Random

from workloads.make.text import comment, table

SAYS = """
    Sharaf et al. 2006, section 9.3 (table 2): 500 queries of select, table-join, project in random sets of ten, and all
    ten of a set share one select.

    As in the testbed without sharing (sharaf.toml), costs are 1, 2, 4, 8 or 16 units and selectivities 0.1 to 1; the
    shared select has the cost and selectivity of its set, drawn once, and each query's other operators its own. What is
    kept is decided by attributes of the packet, one for selects and one for joins. `load` is the utilisation; the
    document prints none for this experiment. The arrivals stand for its packet trace.
"""


def files() -> dict[str, str]:
    """Texts by file name."""
    random = Random(1)
    text = comment(SAYS)
    text += table("[workload]", name="sharaf-sharing", duration="10 s", seed=3, load=0.9)
    text += table("[[stream]]", name="packets", arrivals="onoff, rate=50, on=20ms, off=20ms, shape=1.5")
    for number in range(1, 51):
        cost, share = 2 ** random.randrange(5), round(random.uniform(0.1, 1.0), 3)
        text += table(
            "[[query]]",
            name=f"set{number}-",
            count=10,
            from_=["packets"],
            draw={"cost": "choice, values=[1us, 2us, 4us, 8us, 16us]", "share": "uniform, low=0.1, high=1.0"},
            operators=[
                f"select, name=shared-{number}, cost={cost}us, selectivity={share}, attribute=select",
                "table-join, cost=$cost, selectivity=$share, attribute=join",
                "project, cost=$cost",
            ],
        )
    return {"sharaf-sharing.toml": text}
