from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import is_hypothesis_test, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A Java that lives for a minute hardly runs what it optimizes.
PLAIN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
# Most of a start is loading classes. `make test` writes an archive of them; without it, starts just take longer.
ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
QUICK = f"{PLAIN} -XX:SharedArchiveFile={ARCHIVE} -Xlog:disable" if ARCHIVE.exists() else PLAIN
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK)
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", QUICK)
os.environ.setdefault("SPARK_DRIVER_MEMORY", "1g")  # several run at a time

LONG = (
    "spark/cluster/",
    "spark/execution/test_kill",
    "spark/cli/",
    "spark/engine/",
    "spark/execution/",
    "spark/queries/",
    "spark/jvm/",
    "spark/fuzz/",
    "spark/compile/",
    "spark/",
    "freshness/",
    "docs/",
    "policies/test_checks",
    "reproduction/",
    "server/dashboard/",
    "core/test_trace",
)  # first, so that none is last

# Examples per Hypothesis test, as a multiple of what the test asks for (100 if it asks for nothing).
PROFILES = {"quick": 0.1, "ci": 0.4, "long": 20.0}
FEWEST = 10  # examples, also in the profile quick


def load_hypothesis_profile() -> float:
    """Load the profile that HYPOTHESIS_PROFILE names; the multiple that it has in `PROFILES`."""
    for name in PROFILES:
        settings.register_profile(name, deadline=None)  # the machine may be busy with other tests
    profile = os.environ.get("HYPOTHESIS_PROFILE", "ci")
    if profile not in PROFILES:
        raise pytest.UsageError(f"HYPOTHESIS_PROFILE is {profile!r}, not one of {', '.join(PROFILES)}")
    settings.load_profile(profile)
    return PROFILES[profile]


EXAMPLES = load_hypothesis_profile()
ALL = EXAMPLES > 1  # whether tests with many cases of a kind take all of them, which is for `make long`


def scale_examples(test: Any) -> None:
    """Multiply a Hypothesis test's number of examples, whether its own or the profile's, by what the profile says."""
    own: settings = test._hypothesis_internal_use_settings  # the decorator cannot be applied a second time
    examples = max(min(FEWEST, own.max_examples), round(own.max_examples * EXAMPLES))
    test._hypothesis_internal_use_settings = settings(own, max_examples=examples)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests that use the fixture `spark`, directly or through other fixtures; before `-m` selects by marks."""
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.spark)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take minutes start first: a worker that meets one at the end works on alone."""

    def place(item: pytest.Item) -> int:
        return next((n for n, name in enumerate(LONG) if f"tests/{name}" in item.nodeid), len(LONG))

    items.sort(key=place)
    functions = {item.function for item in items if isinstance(item, pytest.Function)}
    for test in filter(is_hypothesis_test, functions):
        scale_examples(test)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """Whichever runs, started if none does: tests of the command line in between stop theirs."""
    from headgate.spark.jvm.settings import builder

    session = builder("local[2]", "headgate-tests").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
