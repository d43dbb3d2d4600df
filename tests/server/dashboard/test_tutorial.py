"""The story of docs/tutorial.md, by mouse and keyboard: from an empty server to a late query that is mended.

It takes the tutorial's pictures; `make pictures` keeps them. What is late is late on every machine: an alert shares the
class of a query whose runs take many times the alert's target, and cannot be cut.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.server.conftest import Serve
from tests.server.dashboard.album import Album, for_the_documentation
from tests.server.dashboard.conftest import OpenPage
from tests.server.http_client import Http, until

pytestmark = pytest.mark.long

LONG = 180_000  # milliseconds; what waits for Spark, which may be cold and the machine busy
WRONG = "SELECT machine, tempp, ts FROM readings WHERE temp > 80"
HOT = "SELECT machine, temp, ts FROM readings WHERE temp > 80"
AVERAGES = """SELECT window.start AS since, machine, count(*) AS readings, avg(temp) AS mean
FROM readings GROUP BY window(ts, '2 seconds'), machine"""
WEAR = """SELECT window.start AS since, machine, max(
  aggregate(sequence(1, 200), 0D, (whole, a) -> whole +
    aggregate(sequence(1, 1000), 0D, (part, b) -> part + sin(a * b * temp)))) AS wear
FROM readings GROUP BY window(ts, '10 seconds'), machine"""


def test_from_an_empty_server_to_a_late_query_that_is_mended(serve: Serve, open_page: OpenPage, tmp_path: Path) -> None:
    http, album = serve(), Album.of("tutorial", tmp_path)
    page = open_page(http)
    define_a_stream(page, album)
    declare_classes(page, album)
    start_the_alert(page, album)
    start_the_others(page, album)
    find_what_is_late(page, album)
    late = ask_why(page, album)
    move_it(page, album)
    see_it_fall(http, page, album, late)
    stop_the_costly_one(page, album)
    assert len(album.taken()) >= 12


def define_a_stream(page: Page, album: Album) -> None:
    expect(page.get_by_text("There is no stream yet")).to_be_visible()
    album.take(page, "01-empty")
    page.get_by_role("link", name="Define a stream").first.click()
    page.get_by_label("Name", exact=True).fill("readings")
    page.get_by_label("Name of column 1").fill("machine")
    page.get_by_label("Type of column 1").fill("string")
    page.get_by_label("Name of column 2").fill("temp")
    page.get_by_label("Watermark").fill("1 s")
    page.get_by_role("button", name="Made-up rows").click()
    expect(page.get_by_label("Source", exact=True)).to_have_value(
        "poisson, rate=20, machine=[oven, press, paint], temp=[0, 100]"
    )
    album.take(page, "02-define-a-stream", height=1000)
    page.get_by_label("Source", exact=True).press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("readings")
    page.get_by_label("Live", exact=True).check()
    expect(page.get_by_role("main").get_by_role("cell", name="oven").first).to_be_visible(timeout=LONG)
    expect(page.get_by_text("/s now")).to_have_text(re.compile(r"^[12]\d"), timeout=LONG)  # about twenty
    expect(page.locator("main canvas").first).to_be_visible(timeout=LONG)
    album.take(page, "03-stream", height=800)


def declare_classes(page: Page, album: Album) -> None:
    go(page, "Classes")
    for name, priority in (("critical", "60"), ("normal", "30"), ("background", "10")):
        page.get_by_role("button", name="Declare a class").click()
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_label("Priority", exact=True).fill(priority)
        if name == "background":
            album.take(page, "04-declare-a-class")
        page.get_by_label("Priority", exact=True).press("Enter")
        expect(page.get_by_role("cell", name=name, exact=True)).to_be_visible()


def start_the_alert(page: Page, album: Album) -> None:
    """An important alert, in the wrong class; its SQL is wrong at first, too."""
    begin(page, "hot", "background", WRONG)
    expect(page.locator(".at-place")).to_contain_text("Line 1, column 17: unknown column 'tempp'", timeout=LONG)
    expect(page.locator(".cm-lintRange-error")).to_have_text("tempp")
    expect(page.get_by_role("button", name="Start the query")).to_be_disabled()
    album.take(page, "05-error", height=560)
    write(page, HOT)
    page.get_by_label("Within a target").check()
    page.get_by_label("Target", exact=True).fill("1 s")
    expect(page.get_by_role("heading", name="Columns of its results")).to_be_visible(timeout=LONG)
    expect(page.locator(".at-place")).to_have_count(0)
    album.take(page, "06-dry-run", height=740)
    start(page, "hot")
    page.get_by_role("tab", name="Results").click()
    results = page.get_by_role("region", name="Newest results of hot").get_by_role("row")
    expect(results.nth(3)).to_be_visible(timeout=LONG)
    wait_for_a_picture(page)
    album.take(page, "07-results", height=560)


def start_the_others(page: Page, album: Album) -> None:
    begin(page, "averages", "normal", AVERAGES)
    start(page, "averages")
    begin(page, "wear", "background", WEAR)
    expect(page.get_by_role("heading", name="Columns of its results")).to_be_visible(timeout=LONG)
    album.take(page, "08-costly-query", height=900)
    start(page, "wear")
    page.get_by_role("tab", name="Results").click()
    expect(page.get_by_role("region", name="Newest results of wear")).to_be_visible(timeout=LONG)
    go(page, "Queries")
    for name in ("hot", "averages", "wear"):
        expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()


def find_what_is_late(page: Page, album: Album) -> None:
    """The overview has it on top."""
    go(page, "Overview")
    wrong = page.get_by_role("region", name="What is wrong").get_by_role("listitem")
    expect(wrong.filter(has_text=re.compile("hot (misses its target of|stalled)")).first).to_be_visible(timeout=LONG)
    album.take(page, "09-late")


def ask_why(page: Page, album: Album) -> float:
    """The words name the costly query; for how long the result waited that they tell of."""
    page.get_by_role("row").filter(has=page.get_by_role("link", name="hot", exact=True)).get_by_role(
        "link", name="why?"
    ).click()
    sentence = page.locator(".explanation .sentence")
    expect(sentence).to_be_visible(timeout=LONG)
    asked_until(page, sentence, "wear")
    page.get_by_role("button", name="1 min", exact=True).click()
    wait_for_a_picture(page, "missed")
    album.take(page, "10-why", height=1000)
    found = re.search(r"([\d.]+) (ms|s|min)\b", sentence.inner_text())
    assert found
    return float(found[1]) * {"ms": 0.001, "s": 1.0, "min": 60.0}[found[2]]


def asked_until(page: Page, sentence: Locator, word: str) -> None:
    """Ask about one slow moment after the other until the words name what is looked for.

    The slowest result may be one of the first, which waited for a cold Spark.
    """
    choices = page.get_by_role("group", name="Which result").get_by_role("button")
    for _ in range(20):
        for place in range(choices.count()):
            choices.nth(place).click()
            with suppress(AssertionError):
                expect(sentence).to_contain_text(word, timeout=3_000)
                return
    expect(sentence).to_contain_text(word)


def move_it(page: Page, album: Album) -> None:
    page.get_by_label("Class to move it to").select_option("critical")
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.locator(".query-facts .class-mark")).to_have_text("critical", timeout=LONG)


def see_it_fall(http: Http, page: Page, album: Album, late: float) -> None:
    page.get_by_role("tab", name="Overview").click()
    until(lambda: http.get("/v1/queries/hot"), lambda _: p95(http) < late / 2, seconds=LONG / 1000)
    wait_for_a_picture(page)
    album.take(page, "11-mended", height=1000)
    go(page, "Timeline")
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    album.take(page, "12-timeline")


def stop_the_costly_one(page: Page, album: Album) -> None:
    go(page, "Queries")
    page.get_by_role("link", name="wear", exact=True).click()
    page.get_by_role("button", name="Stop", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Stop wear?")
    album.take(page, "13-stop", height=700)
    dialog.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("This query has been stopped and removed")).to_be_visible(timeout=LONG)
    go(page, "Overview")
    expect(page.get_by_text("Nothing: every query runs, and none is late.")).to_be_visible(timeout=LONG)
    album.take(page, "14-all-well")


def wait_for_a_picture(page: Page, target: str = "met") -> None:
    """For the documentation, wait until the target is met: soon on a quiet machine, and perhaps never on a busy one."""
    if for_the_documentation():
        expect(page.locator(".query-facts .target-mark .badge")).to_have_text(target, timeout=LONG)


def go(page: Page, pane: str) -> None:
    page.get_by_role("navigation", name="Panes").get_by_role("link", name=pane).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(pane)


def begin(page: Page, name: str, of_class: str, sql: str) -> None:
    """Fill in the form of a new query."""
    page.get_by_role("link", name="New query").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Class", exact=True).select_option(of_class)
    write(page, sql)


def write(page: Page, sql: str) -> None:
    """Replace what is in the editor, by keyboard."""
    editor = page.get_by_role("textbox", name="SQL of the query")
    expect(page.locator(".cm-editor")).to_be_visible()
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")  # text in place of marked text gets its style by Chromium, which the CSP complains of
    page.keyboard.insert_text(sql)


def start(page: Page, name: str) -> None:
    page.get_by_role("button", name="Start the query").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(name, timeout=LONG)


def p95(http: Http) -> float:
    """How long 95 % of the alert's results took at most, of those of the last 10 s."""
    found = http.get("/v1/queries/hot").json["latency"]["last_10_s"]["p95"]
    return float("inf") if found is None else float(found)
