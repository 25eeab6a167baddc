"""The report in a real browser: Chromium, without a window, opens the pages from file://.

The pages are those of the committed snapshot, so they hold every figure and formula that readers
see, and a few of invented results, which have every verdict. `make browser` looks at all of them
and keeps screenshots of each kind; `make test` looks at a few.
"""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from invented_results import sample

from repro.report import render
from repro.report.preview import preview
from repro.report.words import verdict_of

NAMES = ("chromium", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
if CHROMIUM is None:
    pytest.skip("no Chromium here: apt-get install chromium", allow_module_level=True)
INSTALL = 'pip install -e ".[browser]"'
sync_api = pytest.importorskip("playwright.sync_api", reason=INSTALL)
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=INSTALL)

FULL = os.environ.get("BROWSER") == "full"
ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "artifacts/reference"
SCREENSHOTS = ROOT / "artifacts/screenshots"
KINDS = {
    "claim": "claims/fang2022/theorem-3.5/index.html",
    "index": "index.html",
    "letter": "letter-jiang2024.html",
    "open": "open.html",
}
INVENTED = {"every verdict": "index.html"}
FEW = ["claim", *INVENTED]  # index and letters are long: axe takes 20 seconds for either
PATIENCE = 180_000  # milliseconds: the machine may be busy
TELEPHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return preview(REFERENCE, tmp_path_factory.mktemp("report")).parent


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    """Every verdict, a run that is still going, messages."""
    folder = tmp_path_factory.mktemp("invented")
    return render(sample(), folder).parent


@pytest.fixture
def path_of(report, invented):
    def path_of(kind):
        return (invented if kind in INVENTED else report) / {**KINDS, **INVENTED}[kind]

    return path_of


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield chromium
        chromium.close()


@pytest.fixture
def window(browser):
    """Open a page in a fresh window; an error in the console or a request elsewhere is kept."""
    opened = []

    def window(path, **settings):
        context = browser.new_context(offline=True, **settings)
        context.set_default_timeout(PATIENCE)
        opened.append(context)
        page = context.new_page()
        page.complaints = []
        page.on(
            "console",
            lambda said: page.complaints.append(said.text) if said.type == "error" else None,
        )
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on(
            "request",
            lambda asked: page.complaints.append(asked.url) if elsewhere(asked.url) else None,
        )
        page.goto(path.as_uri())
        return page

    yield window
    for context in opened:
        context.close()


def elsewhere(url):
    return urlsplit(url).scheme not in ("file", "data")


# A page as it is shown, with everything unfolded.
LOOK = """() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  const boxed = (one) => one.getBoundingClientRect().width * one.getBoundingClientRect().height > 0;
  const told = (one) => one.outerHTML.slice(0, 120);
  const all = (what) => [...document.querySelectorAll(what)];
  return {
    addresses: all("[href], [src]").map((one) => one.getAttribute("href") ?? one.getAttribute("src")),
    pictures: all("img").filter((one) => !one.naturalWidth).map(told),
    formulas: all("math").filter((one) => one.checkVisibility() && !boxed(one)).map(told),
    count: all("math").length,
    beyond: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
}"""


def defects(page, path):
    """What is wrong with a page, by kind; how many formulas it has, which is no defect."""
    page.complaints.clear()
    page.goto(path.as_uri())
    looked = page.evaluate(LOOK)
    dead = [address for address in looked.pop("addresses") if not alive(path, address)]
    return looked | {"links": dead, "complaints": list(page.complaints)}


def alive(path, address):
    """Whether a link leads to a file that is there and, in a page, to a place that it has."""
    parts = urlsplit(address)
    target = path.parent / unquote(parts.path) if parts.path else path
    if parts.scheme or not target.is_file():
        return False
    return not parts.fragment or f'id="{parts.fragment}"' in target.read_text()


def chosen_of(report):
    pages = sorted(report.rglob("*.html"))
    return pages if FULL else [*pages[::20], *(report / path for path in KINDS.values())]


def test_links_images_and_formulas_are_whole_and_nothing_is_wider_than_a_telephone(
    report, invented, window
):
    chosen = chosen_of(report)
    page = window(chosen[0], viewport=TELEPHONE)
    found = {str(path.relative_to(report)): defects(page, path) for path in chosen}
    assert sum(one.pop("count") for one in found.values()) > 500
    wrong = {path: {k: v for k, v in one.items() if v} for path, one in found.items()}
    assert {path: one for path, one in wrong.items() if one} == {}


# A page as it is printed: nothing beyond the paper or cut off by its box, all letters told from
# their ground. Backgrounds are printed only where the style sheet insists.
PRINTED = """() => {
  const all = [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility());
  const told = (one) => one.outerHTML.slice(0, 120);
  const style = (one) => getComputedStyle(one);
  const unseen = (one) => one.closest(".unseen, .signs, .skip");
  const words = (one) => [...one.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const light = (colour) => {
    const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map((x) => x / 255);
    const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const ground = (one) => {
    for (; one; one = one.parentElement) {
      const { backgroundColor, printColorAdjust } = style(one);
      if (printColorAdjust === "exact" && /^rgb\\(/.test(backgroundColor)) return backgroundColor;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (one) => {
    const [a, b] = [light(style(one).color), light(ground(one))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const right = document.documentElement.clientWidth + 1;
  const cut = (one) => style(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1;
  return {
    beyond: all.filter((one) => !unseen(one) && one.getBoundingClientRect().right > right).map(told),
    cut: all.filter((one) => !unseen(one) && cut(one)).map(told),
    faint: all.filter((one) => words(one) && !one.closest("svg") && contrast(one) < 3).map(told),
    folded: [...document.querySelectorAll("details:not(.digest) > :not(summary)")]
      .filter((one) => !one.closest(".small") && !one.checkVisibility({ contentVisibilityAuto: true }))
      .map(told),
  };
}"""
PAPER = {"width": 718, "height": 1046}  # A4 without margins of one centimetre


def printed(page, path, scheme):
    page.emulate_media(media="print", color_scheme=scheme)
    page.goto(path.as_uri())
    return {kind: places for kind, places in page.evaluate(PRINTED).items() if places}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_nothing_is_cut_off_or_faint(report, invented, window, scheme):
    pages = [*chosen_of(report), invented / "index.html"]
    pages = pages if FULL or scheme == "light" else pages[-2:]
    page = window(pages[0], viewport=PAPER)
    found = {str(path): printed(page, path, scheme) for path in pages}
    assert {path: one for path, one in found.items() if one} == {}


BAD_ON_PAPER = """<!doctype html><html lang="en"><head><title>Bad</title></head><body>
<p style="width: 900px">wide</p> <pre style="overflow: auto; width: 90px">cut off, cut off</pre>
<p style="color: #fff; background: #000">white on a ground that is not printed</p>
<p style="color: #fff; background: #000; print-color-adjust: exact">white on a ground that is</p>
<details><summary>More</summary><p>folded away</p></details></body></html>"""


def test_what_would_be_lost_on_paper_is_seen(tmp_path, window):
    path = tmp_path / "bad.html"
    path.write_text(BAD_ON_PAPER)
    found = printed(window(path, viewport=PAPER), path, "light")
    assert {kind: len(places) for kind, places in found.items()} == {
        "beyond": 1,
        "cut": 1,
        "faint": 1,
        "folded": 1,
    }


BAD = """<!doctype html><html><head><title>Bad</title></head><body>
<a href="nowhere.html">no file</a> <a href="#nowhere">no place</a> <img src="none.png">
<math></math> <div style="width: 900px">wide</div> <button></button>
<p style="color: #ccc; background: #fff">faint</p>
<script src="https://example.org/x.js"></script></body></html>"""


def test_a_bad_page_is_seen_to_be_bad(tmp_path, window):
    path = tmp_path / "bad.html"
    path.write_text(BAD)
    page = window(path, viewport=TELEPHONE)
    found = defects(page, path)
    script = "https://example.org/x.js"
    assert found["links"] == ["nowhere.html", "#nowhere", "none.png", script]
    assert [len(found["pictures"]), len(found["formulas"])] == [1, 1]
    assert found["beyond"] >= 900 - TELEPHONE["width"]
    assert script in found["complaints"]
    assert any("ERR_FILE_NOT_FOUND" in said for said in found["complaints"])
    rules = {"button-name", "color-contrast", "html-has-lang", "image-alt"}
    assert rules <= {rule for rule, _ in violations(page)}


def violations(page):
    """Serious and critical ones of axe-core: the rule, and the first place."""
    found = axe.Axe().run(page).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in grave]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", [*KINDS, *INVENTED] if FULL else FEW)
def test_people_who_cannot_see_well_can_read_it(path_of, window, kind, scheme):
    assert violations(window(path_of(kind), color_scheme=scheme)) == []


def choose(page, name, value):
    """With the keyboard, as everybody can."""
    values = page.locator(f"#show-{name} option").evaluate_all("all => all.map((one) => one.value)")
    page.focus(f"#show-{name}")
    for _ in range(values.index(value)):
        page.keyboard.press("ArrowDown")


def shown(page):
    rows = page.locator("tr[data-verdict]")
    drawn = "all => all.filter((one) => one.getClientRects().length).map((one) => one.id)"
    return sorted(rows.evaluate_all(drawn))


SCRIPT = pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])


def rows_of(claims):
    """The ids of their rows, in order."""
    return sorted("claim-" + claim.id.replace("/", "-") for claim in claims)


@SCRIPT
def test_every_choice_shows_exactly_the_rows_that_have_it(invented, window, script):
    claims = [replace(c, verdict=verdict_of(c)) for c in sample().claims]
    page = window(invented / "index.html", java_script_enabled=script)
    for name in ("paper", "kind", "verdict", "evidence"):
        values = {value for c in claims for value in as_list(getattr(c, name))}
        offered = page.locator(f"#show-{name} option").evaluate_all(
            "all => all.map((o) => o.value)"
        )
        assert set(offered) == {"", *values}
        for value in values:
            page.select_option(f"#show-{name}", value)
            having = [c for c in claims if value in as_list(getattr(c, name))]
            assert shown(page) == rows_of(having), f"{name}: {value}"
        page.select_option(f"#show-{name}", "")
    page.select_option("#show-evidence", "train")
    assert 0 < len(shown(page)) < len(claims)


def as_list(value):
    return value if isinstance(value, list) else [value]


@SCRIPT
def test_the_filter_shows_what_was_chosen(invented, window, script):
    claims = sample().claims
    chosen = [c for c in claims if (c.paper, c.verdict) == ("fang2022", "corrected")]
    wanted = rows_of(chosen)
    page = window(invented / "index.html", java_script_enabled=script)
    assert len(shown(page)) == len(claims)
    choose(page, "paper", "fang2022")
    choose(page, "verdict", "corrected")
    assert shown(page) == wanted
    if script:
        assert page.inner_text("#shown") == f"{len(wanted)} of {len(claims)} shown"
        assert page.locator("section#jiang2024").is_hidden()
        page.reload()
        assert shown(page) == wanted, "the address keeps the choice"
    page.get_by_role("button", name="Show all").click()
    assert len(shown(page)) == len(claims)


def test_a_stranger_finds_a_theorem_its_command_and_the_letter(report, window):
    page = window(report / "index.html")
    choose(page, "paper", "fang2022")
    choose(page, "kind", "theorem")
    page.locator("tr:visible").get_by_role("link", name="Theorem 3.5", exact=True).click()
    assert page.inner_text("h1") == "Every polynomial, with zero error"
    page.get_by_role("link", name="Repeat it").click()
    program, file, *_ = page.inner_text("section:has(#repeat) pre").split()
    assert program == "pytest"
    assert (ROOT / file).is_file()
    page.get_by_role("link", name="All statements", exact=True).click()
    page.get_by_role("link", name="Letter to the authors of fang2022", exact=True).click()
    assert page.locator("article h3").filter(has_text="Theorem 3.5").first.is_visible()
    assert page.complaints == []


LOOKS = {
    "360": {"viewport": TELEPHONE},
    "800": {"viewport": {"width": 800, "height": 1000}},
    "1400": {"viewport": {"width": 1400, "height": 1000}},
    "dark": {"viewport": {"width": 1400, "height": 1000}, "color_scheme": "dark"},
    "print": {"viewport": {"width": 794, "height": 1123}},
}


@pytest.mark.parametrize("kind", [*KINDS, *INVENTED] if FULL else ["claim"])
def test_screenshots_are_kept(path_of, window, kind):
    """The first four screens, or sheets of paper, for people to look at."""
    for look, settings in LOOKS.items():
        page = window(path_of(kind), **settings)
        if look == "print":
            page.emulate_media(media="print")
        width, height = settings["viewport"].values()
        page.set_viewport_size({"width": width, "height": 4 * height})
        page.screenshot(path=SCREENSHOTS / f"{kind.replace(' ', '-')}-{look}.png")
        assert page.complaints == []
