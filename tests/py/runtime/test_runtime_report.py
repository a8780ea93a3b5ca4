"""The report: a page that holds everything, in a browser too, and the curves on it."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from runs import lines
from sexpgpu.runtime.look.chart import Chart, Scale, figure, running_mean
from sexpgpu.runtime.look.curves import CURVES, MOST, Curve, read_curves, ticks
from sexpgpu.runtime.look.report import page
from sexpgpu.runtime.look.run import open_run


class Tags(HTMLParser):
    """Checks that tags nest, and gathers addresses."""

    VOID = ("meta", "br", "path")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "data", "srcset")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_is_written_by_the_run_and_holds_everything(finished: Path) -> None:
    text = (finished / "report.html").read_text()
    tags = Tags()
    tags.feed(text)
    assert not tags.open and not tags.addresses, "well formed, and nothing from outside"
    assert "default-src 'none'" in text and "http" not in text.replace("http-equiv", "")
    charts = re.findall(r"<figcaption>([^<]*)", text)
    for title in ("loss", "mae", "gradient norm", "schedule/lr", "schedule/beta", "tokens a second", "time of a step"):
        assert title in charts, (title, charts)
    data = [json.loads(x) for x in re.findall(r'<script type="application/json">(.*?)</script>', text)]
    curve = data[charts.index("loss")]["curves"]
    assert [c["name"] for c in curve] == ["train", "val"]
    assert [p[0] for p in curve[0]["points"]] == list(range(1, 11))
    for (step, value), line in zip(curve[0]["points"], [e for e in lines(finished) if "train/loss" in e], strict=True):
        assert step == line["step"] and value == pytest.approx(line["train/loss"], rel=1e-5)
    assert [p[0] for p in curve[1]["points"]] == [0, 5, 10]
    assert "on-nonfinite" in text and "Where time went" in text and "eval/val/loss, best" in text


def test_a_report_of_a_run_without_a_line(finished: Path) -> None:
    (finished / "metrics.jsonl").unlink()
    assert "no metrics yet" in page(open_run(str(finished)))


def chromium() -> str | None:
    import shutil
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


# A browser is no package of Python's index: CI installs the distribution's, and a newcomer need not have one.
@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")
def test_the_report_in_a_browser(finished: Path) -> None:
    """Wide and narrow, light and dark: nothing is cut off, asked for from outside, or complained about; a pointer over
    a curve reads it."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        grounds = set()
        for width in (1280, 360):
            for scheme in ("light", "dark"):
                opened = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
                said: list[str] = []
                opened.on("console", lambda m, said=said: said.append(m.text))
                opened.on("pageerror", lambda e, said=said: said.append(str(e)))
                opened.on("request", lambda r, said=said: said.append(r.url) if not r.url.startswith("file:") else None)
                opened.goto((finished / "report.html").as_uri())
                assert opened.evaluate("document.documentElement.scrollWidth") <= width
                grounds.add(opened.evaluate("getComputedStyle(document.body).backgroundColor"))
                area = opened.locator(".area").first
                area.scroll_into_view_if_needed()
                box = area.bounding_box()
                assert box is not None and box["width"] > 200
                opened.mouse.move(box["x"] + box["width"] - 1, box["y"] + 20)
                reading = opened.locator(".reading").first.inner_text()
                assert reading.startswith(f"step 10: train {lines(finished)[-1]['train/loss']:.4f}"[:-1]), reading
                drawn = opened.evaluate("[...document.querySelectorAll('path.c0')].every(p => p.getTotalLength() >= 0 "
                                        "&& !p.getAttribute('d').includes('NaN'))")
                assert drawn and not said, said
                opened.close()
        assert len(grounds) == 2
        browser.close()


# -- curves -----------------------------------------------------------------------------------------------------------

def test_long_runs_keep_their_peaks(tmp_path: Path) -> None:
    count = 20_000
    path = tmp_path / "metrics.jsonl"
    with open(path, "w") as file:
        for step in range(1, count + 1):
            value = None if step == 700 else 50.0 if step == 12_345 else math.sin(step / 100)
            file.write(json.dumps({"step": step, "time": 1.0, "train/loss": value}) + "\n")
    curve = read_curves(path)["train/loss"]
    assert curve.count == count and len(curve.steps) == len(curve.values) <= MOST
    assert list(curve.steps) == sorted(curve.steps) and (curve.steps[0], curve.steps[-1]) == (1, count)
    assert max(curve.finite()) == 50.0 and curve.last == pytest.approx(math.sin(count / 100))
    for step, value in zip(curve.steps, curve.values, strict=True):
        assert math.isnan(value) or value in (50.0, pytest.approx(math.sin(step / 100)))


def test_what_no_run_writes_is_bounded(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps({"step": s, **{f"train/{s}-{i}": 1.0 for i in range(300)}}) + "\n"
                            for s in range(5)))
    assert len(read_curves(path)) == CURVES
    monkeypatch.setattr("sexpgpu.runtime.look.run.LONGEST", 1000)
    assert read_curves(path) == {}, "a line without an end in reach is no line"


@pytest.mark.parametrize("low, high, found", [(0, 100, [0, 50, 100]), (0.1, 0.35, [0.1, 0.2, 0.3]),
                                              (-3, 3, [-2, 0, 2]), (5, 5, [5]), (0, float("inf"), [0])])
def test_ticks(low: float, high: float, found: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(found)


def test_means_leave_out_what_is_not_finite() -> None:
    assert running_mean([1.0, math.nan, 3.0, math.inf, 5.0], 3) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert math.isnan(running_mean([math.nan], 5)[0])


def test_odd_curves_are_drawn() -> None:
    def curve(*values: float) -> Curve:
        made = Curve()
        for i, value in enumerate(values):
            made.add(i, value)
        return made

    assert figure(Chart("t", {"a": curve(math.nan, math.inf)})) == ""
    for values in ((1.0,), (0.0, 0.0), (1e-300, 1e300), (-1e308, 1e308), (5.0, math.nan, 5.0), (1e-8, 1.0, 1e8)):
        assert "nan" not in figure(Chart("t", {"a": curve(*values)})).lower().replace("aria", ""), values
    assert Scale([curve(1.0, 1000.0)], False).log and not Scale([curve(0.0, 1000.0)], False).log
    assert Scale([curve(*[1.0] * 100, 500.0)], True).beyond == 500.0
