"""The page, read in a real browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.plots.attention import KINDS, head_colours
from keras_transformer.plots.attention_page import page, write_page
from tests.unit.plots.attention_example import HEADS, LAYERS, ODD_WORDS, example, long_example

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome is installed")

# Stands before the page's own program.
WATCH = """<script>
window.troubles = [];
window.onerror = (message) => troubles.push(String(message));
document.addEventListener("securitypolicyviolation", (event) => troubles.push(event.blockedURI));
</script>"""
# Does what a user does, and notes what is there after each step.
ACT = """<script>
const notes = {};
const all = (query) => [...document.querySelectorAll(query)];
const note = (name) => {
  notes[name] = {
    lines: all("#lines path").map((p) => [
      Number(p.dataset.head), Number(p.dataset.q), Number(p.dataset.k), Number(p.dataset.weight),
      p.getAttribute("stroke"), Number(p.getAttribute("stroke-opacity"))]),
    looking: all("#looking .label").map((e) => e.textContent),
    lookedAt: all("#looked-at .label").map((e) => e.textContent),
    active: all("li.active .label").map((e) => e.textContent),
    shares: all("#looked-at .share").map((e) => e.textContent),
    layers: all("#layer button").map((e) => e.textContent),
    background: getComputedStyle(document.body).backgroundColor,
    address: location.hash,
  };
};
const press = (box, value) => all(`#${box} button`).find((b) => b.dataset.value === value).click();
const hover = (column, index, event = "pointerenter") =>
  all(`#${column} li`)[index].dispatchEvent(new PointerEvent(event));
note("start");
hover("looking", 1); note("word");
hover("looking", 1, "pointerleave"); note("left");
hover("looked-at", 0); note("looked at");
hover("looked-at", 0, "pointerleave");
all("#looking li")[0].click(); note("kept");
window.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" })); note("let go");
element("words").click(); note("subwords");
press("layer", "0"); note("layer 1");
all("#heads button")[1].click(); note("without head 2");
all("#heads button")[2].dispatchEvent(new MouseEvent("click", { detail: 2, bubbles: true }));
note("head 3 alone");
element("all-heads").click();
press("kind", "encoder"); note("encoder");
press("kind", "decoder"); note("decoder");
press("theme", "dark"); note("dark");
press("theme", "light"); note("light");
notes.troubles = troubles;
notes.loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
document.body.replaceChildren(Object.assign(document.createElement("pre"), {
  id: "notes", textContent: JSON.stringify(notes) }));
</script>"""


def browse(path: Path, profile: Path, *flags: str, address: str = "") -> str:
    done = subprocess.run(
        [
            *(str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}"),
            *("--window-size=1100,700", "--virtual-time-budget=5000"),
            *flags,
            f"{path.as_uri()}{address}",
        ],
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    return act(example(), ACT, tmp_path_factory.mktemp("page"))


def act(maps, script, folder, *flags):
    """What the script notes on the page."""
    path = folder / "page.html"
    text = page(maps, "a model")
    text = text.replace("<script", f"{WATCH}\n<script", 1).replace("</body>", f"{script}\n</body>")
    path.write_text(text, encoding="utf-8")
    dom = browse(path, folder / "profile", "--dump-dom", *flags)
    found = re.search(r'<pre id="notes">(.*?)</pre>', dom, re.DOTALL)
    assert found, dom[-2000:]
    return json.loads(html.unescape(found.group(1)))


def expected_lines(weights, heads=range(HEADS), keep=lambda q, k: True):
    return {
        (head, q, k): float(weights[head, q, k])
        for head in heads
        for q, k in np.ndindex(*weights.shape[1:])
        if weights[head, q, k] >= 0.02 and keep(q, k)
    }


def check_lines(note, weights, **chosen):
    drawn = {(head, q, k): weight for head, q, k, weight, *_ in note["lines"]}
    wanted = expected_lines(weights, **chosen)
    assert drawn.keys() == wanted.keys()
    for place, weight in wanted.items():
        assert drawn[place] == pytest.approx(weight, abs=3e-4)
    colours = head_colours(HEADS)
    assert all(colour == colours[head] for head, *_, colour, _ in note["lines"])
    strengths = [opacity for *_, opacity in sorted(note["lines"], key=lambda line: line[3])]
    assert strengths == sorted(strengths)


@needs_browser
def test_nothing_fails_and_nothing_is_loaded(notes):
    assert notes["troubles"] == [] and notes["loaded"] == []


@needs_browser
def test_the_page_opens_with_all_heads_of_the_last_layer_over_words(notes):
    maps = example()
    check_lines(notes["start"], maps.joined("cross", LAYERS - 1))
    assert notes["start"]["looking"] == [word.text for word in maps.target.words]
    assert notes["start"]["lookedAt"] == [word.text for word in maps.source.words]
    assert notes["start"]["layers"] == ["1", "2"]
    assert notes["start"]["active"] == [] and set(notes["start"]["shares"]) == {""}


@needs_browser
def test_a_word_shows_where_it_looks_and_what_looks_at_it(notes):
    weights = example().joined("cross", LAYERS - 1)
    check_lines(notes["word"], weights, keep=lambda q, k: q == 1)
    assert notes["word"]["active"] == ["hier"]
    shares = [float(share.removesuffix(" %")) for share in notes["word"]["shares"]]
    np.testing.assert_allclose(shares, 100 * weights[:, 1].mean(axis=0), atol=0.6)
    check_lines(notes["left"], weights)
    check_lines(notes["looked at"], weights, keep=lambda q, k: k == 0)
    check_lines(notes["kept"], weights, keep=lambda q, k: q == 0)
    assert "word=looking%3A0" in notes["kept"]["address"]
    check_lines(notes["let go"], weights)


@needs_browser
def test_the_switch_the_layers_and_the_heads(notes):
    raw = example().weights["cross"]
    check_lines(notes["subwords"], raw[1])
    assert notes["subwords"]["lookedAt"] == list(example().source.subtokens)
    check_lines(notes["layer 1"], raw[0])
    check_lines(notes["without head 2"], raw[0], heads=[0, 2])
    check_lines(notes["head 3 alone"], raw[0], heads=[2])
    assert notes["head 3 alone"]["address"].endswith("layer=1&heads=3&words=0")


@needs_browser
def test_the_three_kinds(notes):
    maps = example()
    check_lines(notes["encoder"], maps.weights["encoder"][0])
    check_lines(notes["decoder"], maps.weights["decoder"][0])
    assert notes["encoder"]["looking"] == notes["encoder"]["lookedAt"]
    assert notes["decoder"]["lookedAt"] == ["<start>", "Klick", "en", "hier"]


LOOK = """<script>
const all = (query) => [...document.querySelectorAll(query)];
const box = (e) => {
  const { left, right, top, bottom } = e.getBoundingClientRect();
  return [left, right, top, bottom];
};
const notes = {
  troubles,
  scripts: document.scripts.length,
  source: element("source-text").textContent,
  words: all("#looked-at .label").map((e) => e.textContent),
  labels: all("#looking .label, #looked-at .label").map(box),
  lines: box(element("lines")),
  directions: all("#looked-at .label").map((e) => getComputedStyle(e).direction),
  isolated: all("#looked-at .label").map((e) => getComputedStyle(e).unicodeBidi),
  wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
};
document.body.replaceChildren(Object.assign(document.createElement("pre"), {
  id: "notes", textContent: JSON.stringify(notes) }));
</script>"""


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [1100, 520])
def test_long_sentences_and_odd_words(width, tmp_path):
    maps = long_example()
    notes = act(maps, LOOK, tmp_path, f"--window-size={width},700")
    assert notes["troubles"] == []
    assert notes["scripts"] == 4  # the page's two and those of this test
    assert notes["source"] == maps.source_text
    assert notes["words"] == [word.text for word in maps.source.words]
    # Nothing lies over anything else, and nothing runs out of the window.
    left, right, *_ = notes["lines"]
    looking, looked_at = notes["labels"][:60], notes["labels"][60:]
    assert all(label[1] <= left + 1 for label in looking)
    assert all(label[0] >= right - 1 for label in looked_at)
    assert all(above[3] <= below[2] + 1 for above, below in pairwise(looking))
    assert notes["wider"] <= 0
    from_right = {
        word for word, to in zip(ODD_WORDS, notes["directions"], strict=False) if to == "rtl"
    }
    assert from_right == {"שלום", "مرحبا(1)"}
    assert set(notes["isolated"]) == {"isolate"}


@needs_browser
@pytest.mark.slow
def test_light_and_dark(notes, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    assert notes["light"]["background"] != notes["dark"]["background"]
    path = tmp_path / "page.html"
    write_page(example(), path)
    means = {}
    for theme in ("light", "dark"):
        shot = tmp_path / f"{theme}.png"
        address = f"#theme={theme}&word=looking:0"
        browse(path, tmp_path / "profile", f"--screenshot={shot}", address=address)
        pixels = np.rint(255 * image.imread(shot)[..., :3]).astype(int)
        means[theme] = pixels.mean()
        for colour in head_colours(HEADS):
            wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
            assert (abs(pixels - wanted).sum(axis=-1) <= 9).sum() > 50, (theme, colour)
    assert means["dark"] < 60 and means["light"] > 220


def test_the_page_stands_alone(tmp_path):
    path = tmp_path / "page.html"
    write_page(example(), path)
    text = path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]
    assert "@@" not in text and "default-src 'none'" in text
    addresses = set(re.findall(r"https?://[^\s\"']+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert not re.search(r"\b(src|href|import|url)\s*[=(]", text)
    # What a sentence holds cannot end the script it stands in.
    assert text.count("</script>") == 2
    assert "<title>Attention: Click here &lt;/script&gt;&amp;$x$ 日</title>" in text
    assert set(KINDS) == set(json.loads(re.search(r"json\">(.*?)</script>", text)[1])["weights"])


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(UserError, match="cannot be written"):
        write_page(example(), tmp_path / "no" / "page.html")
