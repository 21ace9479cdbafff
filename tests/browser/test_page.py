"""The page in a real browser: no error, no request, and it does what it promises."""

import time

import pytest

pytestmark = pytest.mark.browser


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.wait_for_timeout(100)  # toggle events come later


def column(page, n):
    return page.eval_on_selector_all(
        "#summary table.summary tbody tr:not([hidden])", f"rows => rows.map(r => r.cells[{n}].textContent.trim())"
    )


def test_loads_from_disk_without_error_or_request(look, usual):
    page = look(usual)
    page.wait_for_load_state("load")
    assert page.logged == []
    assert [url for url in page.requests if not url.startswith("data:")] == [usual.as_uri()]
    assert page.title() == "Example benchmark"
    for part in ("verdicts", "summary", "figures", "pairs", "failures", "section-1", "methods", "provenance"):
        assert page.locator(f"#{part}").is_visible(), part


def test_table_sorts_by_click_and_by_key_with_gaps_last(look, usual):
    page = look(usual)
    head = page.locator("table.summary thead th").last
    button = head.locator("button")
    button.click()
    assert head.get_attribute("aria-sort") == "ascending"
    first = column(page, 6)
    assert first[-1] == "n/a"
    values = [float(text.split()[0]) for text in first[:-1]]
    assert values == sorted(values)
    button.focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    again = column(page, 6)
    assert again[-1] == "n/a"
    assert [float(text.split()[0]) for text in again[:-1]] == sorted(values, reverse=True)
    page.locator("table.summary thead th").first.locator("button").click()
    assert head.get_attribute("aria-sort") is None
    assert column(page, 0) == [f"task {i}" for i in range(7)]


def test_filter_narrows_and_says_so(look, usual):
    page = look(usual)
    box = page.get_by_label("Filter tasks")
    box.fill("mae")
    assert column(page, 0) == ["task 3"]
    assert page.locator(".filter [role=status]").inner_text() == "1 of 7 rows"
    box.fill("nothing like this")
    assert column(page, 0) == []
    box.fill("")
    assert len(column(page, 0)) == 7


def test_charts_show_values_at_the_pointer_and_by_arrow_keys(look, usual):
    page = look(usual)
    tip = page.locator("#tip")
    assert tip.is_hidden()
    mark = page.locator("#figure-forest .m").nth(2)
    mark.scroll_into_view_if_needed()
    mark.locator("path, circle").last.hover()
    assert tip.is_visible()
    assert "task 0: GAT · Test accuracy 0." in tip.inner_text()
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1200
    page.mouse.move(5, 5)
    assert tip.is_hidden()
    chart = page.locator("#figure-critical_difference svg.chart")
    chart.focus()
    page.keyboard.press("ArrowRight")
    first = tip.inner_text()
    assert "mean rank" in first
    page.keyboard.press("ArrowRight")
    assert tip.inner_text() != first
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    assert page.logged == []


def test_legend_switches_a_model_off(look, usual):
    page = look(usual)
    button = page.locator("#figure-forest .legend button").first
    marks = page.locator("#figure-forest svg.chart .s0")
    assert marks.first.is_visible()
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert marks.first.is_hidden()
    button.click()
    assert marks.first.is_visible()


def test_readable_without_script(look, usual):
    page = look(usual, script=False)
    text = page.inner_text("body")
    for words in ("Verdicts", "task 6", "GIN", "Methods", "graphnetz run --suite default", "Learning curves"):
        assert words in text, words
    assert page.locator("#figure-forest svg.chart").first.is_visible()
    assert page.locator("#figure-forest .m title").count() > 30  # the browser's own tooltips
    assert page.locator("button").count() == 0  # nothing that would do nothing
    assert page.locator("input").count() == 0


def test_hostile_names_do_nothing(look, hostile):
    page = look(hostile)
    for button in page.locator("table.summary thead button").all():
        button.click()
    page.get_by_label("Filter tasks").fill("<img")
    page.get_by_label("Filter tasks").fill("")
    for mark in page.locator("#figure-forest .m").all()[:8]:
        mark.locator("path, circle").last.hover(force=True)
    page.wait_for_timeout(200)
    assert page.dialogs == []
    assert page.logged == []
    assert page.locator("img[src=x]").count() == 0
    assert [url for url in page.requests if not url.startswith("data:")] == [hostile.as_uri()]
    assert "</script><img" in page.inner_text("#summary")
    assert "49" not in page.locator("table.summary thead").inner_text()


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("which", ["usual", "hostile"])
def test_fits_phone_and_desktop(look, request, which, width):
    page = look(request.getfixturevalue(which), width=width)
    unfold(page)
    assert overflow(page) <= 0


@pytest.mark.parametrize(("which", "scheme"), [("usual", "light"), ("usual", "dark"), ("hostile", "light")])
def test_accessible(look, request, axe, which, scheme):
    page = look(request.getfixturevalue(which), scheme=scheme)
    unfold(page)
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    assert [(v["id"], n["html"][:160]) for v in found["violations"] for n in v["nodes"]] == []


def test_prints(look, usual, tmp_path):
    page = look(usual)
    page.emulate_media(media="print")
    assert page.locator(".filter").is_hidden()
    assert page.locator("nav").is_hidden()
    page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").stat().st_size > 20_000


def test_ten_thousand_cells(look, large):
    assert large.path.stat().st_size < 10_000_000
    assert large.seconds < 5  # statistics and page, of this process's own time
    start = time.perf_counter()
    page = look(large.path)
    page.wait_for_load_state("load")
    shown = time.perf_counter() - start
    assert page.logged == []
    assert page.locator("table.summary tbody tr").count() == 100
    assert shown < 5


def test_paper_shows_what_a_screen_folds(look, hostile):
    page = look(hostile)
    folded = "() => document.querySelectorAll('details:not([open])').length"
    page.evaluate("() => document.querySelectorAll('details').forEach((part, i) => { part.open = i % 2 == 0; })")
    before = page.evaluate(folded)
    assert before > 0
    page.evaluate(
        "() => addEventListener('beforeprint', () => { window.left = document.querySelectorAll('details:not([open])').length; })"
    )
    assert page.pdf(format="A4")[:4] == b"%PDF"
    assert page.evaluate("() => window.left") == 0
    assert page.evaluate(folded) == before  # and the screen is as it was
