"""Every bad file under `bad/` gives exactly the line that stands below it there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.model import HeadgateError
from headgate.workload import parse_workload, read_workload

BEFORE = "before each"


def cases() -> Iterator[tuple[str, str, str]]:
    for path in sorted((Path(__file__).parent / "bad").glob("*.txt")):
        before = ""
        for block in path.read_text().split("\n=== ")[1:]:
            title, _, rest = block.partition("\n")
            if title == BEFORE:
                before = rest
                continue
            toml, _, expected = rest.rpartition("--- ")
            yield f"{path.stem}/{title}", before + toml, expected.strip()


CASES = list(cases())


@pytest.mark.parametrize(("toml", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_bad_file_gives_one_line_with_its_place(toml: str, expected: str) -> None:
    with pytest.raises(HeadgateError) as caught:
        parse_workload(toml, file="w.toml")
    assert str(caught.value) == expected


def test_every_case_has_its_own_title() -> None:
    assert len({title for title, _, _ in CASES}) == len(CASES) > 100


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "no such file or directory; name a workload file (.toml)"),
        (b"\xff\xfe", "is not UTF-8 text; save it as UTF-8"),
        (b"a = 1\nb = \n", "is not TOML: invalid value; correct the line"),
    ],
    ids=["missing", "binary", "broken"],
)
def test_a_file_that_cannot_be_read_says_so(tmp_path: Path, content: bytes | None, expected: str) -> None:
    path = tmp_path / "w.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HeadgateError) as caught:
        read_workload(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith(f": {expected}")


def test_a_directory_is_not_a_workload(tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="is a directory; name a workload file"):
        read_workload(tmp_path)


def test_an_error_over_several_lines_is_told_in_one() -> None:
    text = '[[stream]]\nname = "s"\narrivals = """poisson,\n  rate=5,\n  on"""\n'
    with pytest.raises(HeadgateError) as caught:
        parse_workload(text, file="w.toml")
    assert str(caught.value) == (
        "w.toml:3: stream 's', arrivals: 'on' in 'poisson, rate=5, on' is not a setting; write setting=value"
    )


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 3000 + "]" * 3000,
        "[workload]\nseed = " + "1" * 5000,
        "[workload]\nload = " + "1" * 400,
        '[workload]\nduration = "' + "1" * 5000 + 's"',
        '[[stream]]\nname = "s"\narrivals = "at, times=' + "[" * 3000 + "]" * 3000 + '"',
        '[[stream]]\nname = "s"\narrivals = "poisson, rate=' + "1" * 5000 + '"',
        '[[stream]]\nname = "s"\narrivals = "at, times=[0]"\n[[query]]\nname = "q"\nqos = [[0, 1' + "0" * 400 + "]]",
        '[[stream]]\nname = "s"\narrivals = "at, times=[0]"\n[[query]]\nname = "q"\nfrom = "s"\noperators = ['
        + '"select", ' * 5000
        + "]",
    ],
    ids=["brackets", "digits", "overflow", "seconds", "times", "rate", "qos", "chain"],
)
def test_monstrous_input_is_refused_like_any_other(text: str) -> None:
    with pytest.raises(HeadgateError) as caught:
        parse_workload(text, file="w.toml")
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 400
