"""Packet traces in the formats of the Internet Traffic Archive."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.builders import workload

from headgate.model import HeadgateError
from headgate.sim import simulate
from headgate.sim.arrivals import arrivals
from headgate.sim.packet_traces import packet_times

BELLCORE = "     0.001228   174\n     0.003804  1090\n     1.008844    64\n"
SANITIZED = {
    "t.tcp": "759103200.013390 1 2 23 1040 0\n0.523 2 1 1040 23 10\n3.75 1 3 20 1041 512\n",
    "t.sf": "759103200.013390 1 2 23 1040 S 1 0\n0.523 2 1 1040 23 SP 4 2\n3.75 1 3 20 1041 F 9 9\n",
    "t.udp": "759103200.013390 1 2 53 53\n0.523 2 1 53 53\n3.75 1 3 53 53\n",
    "t.encap": "759103200.013390\n0.523\n3.75\n",
    "t.other": "759103200.013390\n0.523\n3.75\n",
}


def times(directory: Path, name: str) -> list[float]:
    found = arrivals(f"trace, file={name}", directory).times(np.inf, np.random.default_rng(1))
    return [float(time) for time in found]


@pytest.mark.parametrize("name", ["BC-pAug89.TL", "bc.tl", "BC-pAug89.TL.gz"])
def test_a_bellcore_trace(tmp_path: Path, name: str) -> None:
    content = BELLCORE.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert times(tmp_path, name) == [0.001228, 0.003804, 1.008844]


@pytest.mark.parametrize("name", SANITIZED)
@pytest.mark.parametrize("packed", [False, True])
def test_a_sanitized_trace_begins_in_the_whole_second_of_its_first_packet(
    tmp_path: Path, name: str, packed: bool
) -> None:
    content = SANITIZED[name].encode()
    (tmp_path / f"{name}{'.gz' if packed else ''}").write_bytes(gzip.compress(content) if packed else content)
    assert times(tmp_path, f"{name}{'.gz' if packed else ''}") == pytest.approx([0.01339, 0.523, 3.75], abs=1e-6)


def test_a_part_of_a_sanitized_trace_keeps_its_times() -> None:
    assert packet_times(["12.5", "12.75", "13.0"], ".other") == [12.5, 12.75, 13.0]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.TL", "0.1 64\n0.2 64 7\n", "line 2 has not the 2 columns of a packet: '0.2 64 7'; .*seconds, bytes"),
        ("t.TL", "0.1 64\n\nsoon 64\n", "line 3 begins with 'soon', which is not a time from 0 on"),
        ("t.tcp", "1.0 1 2 23 1040 0\n-1 2 1 1040 23 10\n", "line 2 begins with '-1', which is not a time from 0 on"),
        ("t.tcp", "nan 1 2 23 1040 0\n", "line 1 begins with 'nan'"),
        ("t.udp", "0.5 64\n", "line 1 has not the 5 columns of a packet"),
        ("t.other", "0.5 64\n", "line 1 has not the 1 column of a packet"),
        ("t.TL.Z", "\x1f\x9d", "it is compressed; unpack it first: uncompress FILE"),
        ("t.TL.gz", "0.1 64\n", "Not a gzipped file"),
    ],
)
def test_what_is_no_packet_is_told_with_file_and_line(tmp_path: Path, name: str, content: str, says: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(HeadgateError, match=f"cannot read arrival times from '.*{name}': {says}") as error:
        times(tmp_path, name)
    assert "\n" not in str(error.value)


def test_a_trace_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "t.TL").write_text("0.25 64\n")
    assert times(tmp_path, "t.TL") == [0.25]
    (tmp_path / "t.TL").write_text("0.25 64\n0.5 64\n")
    assert times(tmp_path, "t.TL") == [0.25, 0.5]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=40), st.integers(10**6, 2**31))
def test_what_sanitize_writes_is_read_as_it_was(microseconds: list[int], begin: int) -> None:
    first, *rest = sorted(microseconds)
    base = first // 10**6 * 10**6  # the whole second of the first packet
    stamps = [begin * 10**6 + first - base, *(stamp - base for stamp in rest)]
    lines = [f"{stamp // 10**6}.{stamp % 10**6:06d} 1 2 53 53" for stamp in stamps]
    expected = [(stamp - base) / 10**6 for stamp in (first, *rest)]
    assert packet_times(lines, ".udp") == pytest.approx(expected, abs=1e-6)


def test_a_simulation_on_a_trace_has_its_rate_and_its_packets(tmp_path: Path) -> None:
    (tmp_path / "t.TL").write_text("".join(f"{number / 100:11.6f} {64 + number:6d}\n" for number in range(500)))
    assert arrivals("trace, file=t.TL", tmp_path).rate == pytest.approx(100.0)
    given = workload({"q": "select, cost=1ms"}, f"trace, file={tmp_path / 't.TL'}", duration="2 s")
    assert simulate(given, "fcfs").tuples_in == {"s": 200}
