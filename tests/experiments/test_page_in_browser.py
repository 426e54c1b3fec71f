"""The page in a real browser: accessible, quiet, alone, and never wider than a phone."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.report import page
from tests.browser import chromium
from tests.experiments import synthetic

AXE = Path(chromium.__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


def need(what: object, name: str, command: str) -> None:
    """Skips where something is missing, but never where it was set up to be there."""
    if not what:
        reason = f"{name} is not installed: {command}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Chromium]:
    path = chromium.binary()
    need(path, "Chromium", "apt-get install chromium")
    assert path is not None
    with chromium.running(path, tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns the addresses of pages of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    few = dataclasses.replace(
        synthetic.BIG,
        n_seeds=2,
        tasks=synthetic.BIG.tasks[:2],
        controls=synthetic.BIG.controls[:1],
        leverage={},
        deviations=("the margin was 0.05 and is 0.1",),
    )
    tasks = {task: synthetic.BIG_TASKS[task] for task in few.tasks}
    raw = synthetic.tables(2, tasks=tasks, kinds=synthetic.BIG_KINDS, study="big")
    failed = synthetic.with_failures(raw[0], raw[0]["cell"][:5].tolist())
    none = dataclasses.replace(few, contrasts=(), controls=(), deviations=())
    written = {
        "contrasts": page.write(few, failed, raw[1], folder / "contrasts"),
        "sweep": page.write(none, *raw, folder / "sweep"),
        "episodes": page.write(_episodes(few), *synthetic.of_trials(raw), folder / "e"),
    }
    return {name: path.as_uri() for name, path in written.items()}


def _episodes(study: page.PageInput) -> page.PageInput:
    """Returns a study of tasks that play their runs themselves."""
    arm, base = study.contrasts[0][:2]
    question = "Is what the one uses worse than what the other uses?"
    return dataclasses.replace(
        study,
        metric="regret",
        episode=synthetic.EPISODE,
        secondary=(page.Secondary(arm, base, question, "tokens", 5.0),),
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["contrasts", "sweep", "episodes"])
def test_axe_finds_nothing_serious(
    browser: chromium.Chromium,
    pages: dict[str, str],
    name: str,
    width: int,
    *,
    dark: bool,
) -> None:
    need(AXE.is_file(), "axe-core", "npm ci --prefix tests/browser")
    browser.visit(pages[name], width=width, dark=dark)
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.value(AXE.read_text("utf-8"))
    found = browser.value(
        "axe.run().then(r => ({passes: r.passes.length, worst: r.violations.filter("
        "v => ['serious', 'critical'].includes(v.impact)).map("
        "v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 200)).join(' | '))}))"
    )
    assert found["passes"] > 15
    assert found["worst"] == []


@pytest.mark.parametrize("name", ["contrasts", "sweep", "episodes"])
def test_the_page_asks_for_itself_alone_and_the_console_stays_empty(
    browser: chromium.Chromium, pages: dict[str, str], name: str
) -> None:
    browser.visit(pages[name], width=1280, dark=False)
    browser.value("new Promise(done => setTimeout(done, 200))")
    requests = [
        one["request"]["url"] for one in browser.of("Network.requestWillBeSent")
    ]
    assert [url for url in requests if not url.startswith("data:")] == [pages[name]]
    assert browser.of("Runtime.exceptionThrown") == []
    assert browser.of("Runtime.consoleAPICalled") == []
    assert browser.of("Log.entryAdded") == []


@pytest.mark.parametrize("name", ["contrasts", "sweep", "episodes"])
def test_nothing_sticks_out_of_a_narrow_window(
    browser: chromium.Chromium, pages: dict[str, str], name: str
) -> None:
    browser.visit(pages[name], width=390, dark=False)
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.value("document.documentElement.scrollWidth") <= 390
    wide = (
        "[...document.querySelectorAll('article, article *, .stack td, .panel svg')]"
        ".filter(e => e.getBoundingClientRect().right > 390.5)"
        ".map(e => e.outerHTML.slice(0, 120))"
    )
    assert browser.value(wide) == []


def test_all_answers_are_seen_without_scrolling(
    browser: chromium.Chromium, pages: dict[str, str]
) -> None:
    browser.visit(pages["contrasts"], width=1280, dark=False)
    bottoms = browser.value(
        "[...document.querySelectorAll('article h3')]"
        ".map(e => e.getBoundingClientRect().bottom)"
    )
    assert len(bottoms) == len(synthetic.BIG.contrasts)
    assert max(bottoms) <= 800.0


def test_a_page_that_sticks_out_or_lacks_contrast_would_be_seen(
    browser: chromium.Chromium, tmp_path: Path
) -> None:
    need(AXE.is_file(), "axe-core", "npm ci --prefix tests/browser")
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><html><title>x</title><script>console.error('x')</script>"
        "<p style='color:#ccc;background:#fff;width:900px'>pale<img src='gone.png'></p>"
    )
    browser.visit(bad.as_uri(), width=390, dark=False)
    assert browser.value("document.documentElement.scrollWidth") > 390
    assert browser.of("Runtime.consoleAPICalled") != []
    assert len(browser.of("Network.requestWillBeSent")) > 1
    browser.value(AXE.read_text("utf-8"))
    found = browser.value("axe.run().then(r => r.violations.map(v => v.id))")
    assert "color-contrast" in found
