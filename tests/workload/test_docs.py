"""The reference names every key, kind and setting, and its first example reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headgate.workload import parse_workload
from headgate.workload.arrivals import ARRIVALS
from headgate.workload.kinds import RULES
from headgate.workload.schema import TABLES, File

DOCS = (Path(__file__).parents[2] / "docs" / "workload.md").read_text()


@pytest.mark.parametrize("table", File.keys())
def test_every_table_and_key_is_documented(table: str) -> None:
    part = re.split(rf"^## \[+{table}\]+$", DOCS, flags=re.MULTILINE)[1].partition("\n## ")[0]
    keys = TABLES[table].keys() if table in TABLES else []
    assert [key for key in keys if f"`{key}`" not in part and f"`{key} =" not in part] == []


def test_every_kind_and_setting_is_documented() -> None:
    words = {*ARRIVALS, *RULES, *(key for rule in RULES.values() for key in rule.setting_names)}
    words |= {key for kind in ARRIVALS.values() for key in kind.settings}
    assert [word for word in sorted(words) if f"`{word}`" not in DOCS and f"`{word}=" not in DOCS] == []


def test_the_first_example_reads() -> None:
    example = re.findall(r"```toml\n(.*?)```", DOCS, flags=re.DOTALL)[0]
    assert parse_workload(example).queries[0].name == "q"
