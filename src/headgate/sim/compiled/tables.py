"""The network and the scheduler's state as arrays of records: what compiled code works on.

Lists of different lengths (the queues of a unit, the consumers of an operator) are stretches of one array, `links`;
a record has the place where its stretch begins and how long it is (`…_at`, `…_count`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Word = Any  # 64 bits without a sign
Array = Any  # an array, an array of records, or one of its records: whether their fields exist, numba checks


def record(whole: str, real: str, keys: str = "") -> np.dtype[Any]:
    """A record of whole numbers, real numbers and keys of random numbers."""
    fields: list[tuple[str, type]] = [(name, np.int64) for name in whole.split()]
    fields += [(name, np.float64) for name in real.split()]
    fields += [(name, np.uint64) for name in keys.split()]
    return np.dtype(fields, align=True)


UNIT = record(
    # queue: its only queue, -1 where it has several. chain: 1 if it is filters on one stream, whose outcomes are looked
    # up; 2 if moreover costs do not vary, and then one tuple is worked off in one step. single: whether it is one
    # filter, which takes one tuple in one step, too; most: how many tuples that gives at most. slot: where it stands in
    # its cycle, -1 nowhere. placed: where its line is among those of its part, -1 nowhere.
    # What every run of a chain reads comes first, so that it is in one line of the processor's cache.
    "queue outcomes_at costs_at calls_count query rank ready blocked "
    "entry_at entry_count inner_at inner_count calls_at blocks_at blocks_count chain payer single most "
    "part depth placed slots_at slots_count slot at_most threshold again",
    "fraction intercept slope fixed per_tuple chance",
)
QUEUE = record(
    # position: offset of the head in its stream. A queue behind an operator is a list of tuples in the pool. waiting:
    # tuples that a run under way has taken or made. leaving: tuples that will be there when a run has ended.
    "stream position tuple_bytes length first last operator port states_at states_count home offsets_of "
    "waiting waiting_last leaving leaving_last leaving_count leaving_next",
    "",
)
OPERATOR = record(
    # kind: see operators.py. known: of filters, how their outcomes are found.
    "kind known queues_at queues_count consumers_at consumers_count emits_at emits_count outcomes_at pattern_at "
    "pattern_count seen windows_at windows_count panes upcoming left_at left_count right_at right_count side_room "
    "left_kept right_kept left_upstream right_upstream left_upstream_count right_upstream_count grouped from_end",
    "cost overhead selectivity noise lower upper slide window_size left_work right_work",
    "key noise_key",
)
STREAM = record("queues_at queues_count arrived tuple_bytes times_at", "")
WORKER = record("unit ran number first behind leaving leaving_last", "seconds oldest")
PART = record(
    # players_at, seats: its tournament (orders.py). lines_at, lines, top, second, steep, since: its lines (scan.py).
    "players_at seats ranked_at lines_at lines slots_at slots_count slot awake rotation",
    "share quota used top second steep since",
)
ROTATION = record("slots_at count bits_at cursor begins last", "")  # a cycle of slots (rotation.py)
PLAYER = record("", "key head")  # in a tournament (orders.py); infinity: does not play
LINE = record("unit", "intercept head slope")  # of a ready unit (scan.py)
ENDING = record("number worker", "at")
STATE = record(
    # chains: whether there is one core, and all units are chains that take one tuple at a time (chains.py).
    "phase family chains cores delivery deliveries complete idle endings asking asked decisions runs "
    "tuples bytes max_tuples max_bytes taken_tuples taken_bytes samples sampled results answers free room "
    "worker unit call concludes judges wanted_tuples wanted_results wanted_side "
    "classes current last cycle turns judging rebuilt scanned grown",
    "now busy stop horizon next_sample bin per_second tuples_moment bytes_moment "
    "taken_tuples_moment taken_bytes_moment run_overhead floor began time call_overhead slice used increase fits",
)
TUPLE = np.dtype(
    [("identity", np.uint64), ("arrival", np.float64), ("reference", np.float64), ("next", np.int64)], align=True
)
RESULT = np.dtype(
    [("query", np.int64), ("arrival", np.float64), ("emission", np.float64), ("reference", np.float64)], align=True
)
ANSWER = np.dtype([("payer", np.int64), ("response", np.float64)], align=True)
SIDE = np.dtype(
    [("number", np.float64), ("identity", np.uint64), ("arrival", np.float64), ("reference", np.float64)], align=True
)
DELIVERY = np.dtype([("at", np.float64), ("stream", np.int64), ("tuples", np.int64), ("floor", np.float64)], align=True)
SAMPLE = np.dtype([("time", np.float64), ("tuples", np.float64), ("bytes", np.float64)], align=True)
