"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const ROW = 28; // pixels, as --row
const WEAKEST_LINE = 0.02;

const KINDS = {
  encoder: ["Encoder", "source", "source", "Each word of the source looks at the source."],
  cross: [
    "Decoder → source", "being written", "source",
    "While the decoder writes a word, it looks at the source.",
  ],
  decoder: [
    "Decoder", "being written", "read so far",
    "While the decoder writes a word, it looks at what it has read: the words before it, and " +
      "<start>, its empty first input.",
  ],
};
const THEMES = { auto: "auto", light: "light", dark: "dark" };

const element = (id) => document.getElementById(id);

// ---- weights -------------------------------------------------------------------------------

/** Weights of a layer as rows: heads × looking × looked at, numbers from 0 to 1. */
function unpack(layer, rows, columns) {
  const bytes = atob(layer.data);
  const number = (place) => (bytes.charCodeAt(2 * place) + 256 * bytes.charCodeAt(2 * place + 1)) / 65535;
  return Array.from({ length: layer.heads }, (_, h) =>
    Array.from({ length: rows }, (_, q) =>
      Array.from({ length: columns }, (_, k) => number((h * rows + q) * columns + k))));
}

/** The same between words: summed over what is looked at, averaged over what looks. */
function join(heads, looking, lookedAt) {
  const sum = (row, [, first, end]) => row.slice(first, end).reduce((a, b) => a + b, 0);
  return heads.map((rows) => looking.words.map(([, first, end]) => {
    const sums = rows.slice(first, end).map((row) => lookedAt.words.map((word) => sum(row, word)));
    return lookedAt.words.map((_, k) => sums.reduce((a, row) => a + row[k], 0) / (end - first));
  }));
}

// ---- state, kept in the address so that a view can be passed on ----------------------------

const state = { kind: "cross", layer: 0, heads: new Set(), words: true, theme: "auto", kept: null };
let pointed = null; // { side: "looking" | "lookedAt", index }
let shown = null; // { looking, lookedAt: labels, weights }

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.get("kind") in KINDS) state.kind = given.get("kind");
  const layers = data.weights[state.kind].length;
  const layer = Number(given.get("layer"));
  state.layer = layer >= 1 && layer <= layers ? layer - 1 : layers - 1;
  const wanted = (given.get("heads") || "").split(",").map((head) => head - 1);
  const known = wanted.filter((head) => head in data.colours);
  state.heads = new Set(known.length ? known : data.colours.keys());
  state.words = given.get("words") !== "0";
  if (given.get("theme") in THEMES) state.theme = given.get("theme");
  const kept = /^(looking|lookedAt):(\d+)$/.exec(given.get("word") || "");
  state.kept = kept && { side: kept[1], index: Number(kept[2]) };
}

function writeAddress() {
  const said = new URLSearchParams({ kind: state.kind, layer: state.layer + 1 });
  if (state.heads.size < data.colours.length) {
    said.set("heads", [...state.heads].sort((a, b) => a - b).map((head) => head + 1).join(","));
  }
  if (!state.words) said.set("words", "0");
  if (state.theme !== "auto") said.set("theme", state.theme);
  if (state.kept) said.set("word", `${state.kept.side}:${state.kept.index}`);
  history.replaceState(null, "", `#${said}`);
}

function change(changes) {
  Object.assign(state, changes);
  const layers = data.weights[state.kind].length;
  state.layer = Math.min(state.layer, layers - 1);
  writeAddress();
  draw();
}

// ---- drawing -------------------------------------------------------------------------------

function draw() {
  document.documentElement.dataset.theme = state.theme;
  const [looking, lookedAt] = data.axes[state.kind];
  const raw = unpack(
    data.weights[state.kind][state.layer], looking.subtokens.length, lookedAt.subtokens.length);
  shown = {
    looking: labels(looking),
    lookedAt: labels(lookedAt),
    weights: state.words ? join(raw, looking, lookedAt) : raw,
  };
  if (state.kept && state.kept.index >= shown[state.kept.side].length) state.kept = null;
  pointed = null;
  drawControls();
  const [, left, right, meaning] = KINDS[state.kind];
  element("looking-title").textContent = left;
  element("looked-at-title").textContent = right;
  element("meaning").textContent = meaning;
  drawColumn("looking", element("looking"));
  drawColumn("lookedAt", element("looked-at"));
  drawAttention();
}

/** What stands in a column: text, and whether it is a part of a longer word. */
function labels(axis) {
  if (state.words) return axis.words.map(([text]) => ({ text, part: false }));
  return axis.words.flatMap(([, first, end]) =>
    axis.subtokens.slice(first, end).map((text) => ({ text, part: end - first > 1 })));
}

function drawControls() {
  const layers = data.weights[state.kind].map((_, layer) => [layer, String(layer + 1)]);
  choice("kind", Object.entries(KINDS).map(([kind, [name]]) => [kind, name]));
  choice("layer", layers);
  choice("theme", Object.entries(THEMES));
  element("words").checked = state.words;
  for (const button of element("heads").children) {
    button.setAttribute("aria-pressed", state.heads.has(Number(button.dataset.head)));
  }
}

function choice(name, entries) {
  const box = element(name);
  const focused = box.contains(document.activeElement);
  box.replaceChildren(...entries.map(([value, text]) => {
    const button = make("button", "", text);
    button.type = "button";
    button.dataset.value = value;
    button.setAttribute("aria-pressed", state[name] === value);
    button.onclick = () => change({ [name]: value, ...(name === "kind" ? { kept: null } : {}) });
    return button;
  }));
  if (focused) box.querySelector('[aria-pressed="true"]').focus();
}

function drawColumn(side, list) {
  list.replaceChildren(...shown[side].map(({ text, part }, index) => {
    const item = make("li", part ? "part" : "");
    if (/^<\w+>$/.test(text)) item.classList.add("sign");
    item.tabIndex = 0;
    item.dataset.index = index;
    const label = make("span", "label", text);
    label.dir = "auto"; // Arabic and Hebrew read from the right, whatever stands beside them
    item.append(label, make("span", "bars"), make("span", "share"));
    item.title = text;
    const here = { side, index };
    item.onpointerenter = item.onfocus = () => point(here);
    item.onpointerleave = item.onblur = () => point(null);
    item.onclick = () => keep(here);
    item.onkeydown = (event) => {
      if (event.key === "Enter" || event.key === " ") keep(here);
      else if (event.key === "ArrowDown" && item.nextSibling) item.nextSibling.focus();
      else if (event.key === "ArrowUp" && item.previousSibling) item.previousSibling.focus();
      else return;
      event.preventDefault();
    };
    return item;
  }));
}

function point(where) {
  pointed = where;
  drawAttention();
}

function keep({ side, index }) {
  const again = state.kept && state.kept.side === side && state.kept.index === index;
  state.kept = again ? null : { side, index };
  writeAddress();
  drawAttention();
}

/** Lines between the columns, and how much goes to each word from the one that is pointed at. */
function drawAttention() {
  const active = pointed || state.kept;
  const heads = [...state.heads].filter((head) => head in shown.weights).sort((a, b) => a - b);
  mark("looking", element("looking"), active, heads);
  mark("lookedAt", element("looked-at"), active, heads);

  const svg = element("lines");
  const width = svg.clientWidth || 300;
  svg.setAttribute("height", ROW * Math.max(shown.looking.length, shown.lookedAt.length));
  const lines = [];
  for (const head of heads) {
    shown.weights[head].forEach((row, q) => row.forEach((weight, k) => {
      const meant = !active || (active.side === "looking" ? active.index === q : active.index === k);
      if (meant && weight >= WEAKEST_LINE) lines.push({ head, q, k, weight });
    }));
  }
  lines.sort((a, b) => a.weight - b.weight); // strong ones on top
  svg.replaceChildren(...lines.map(({ head, q, k, weight }) => {
    // Heads lie side by side where they meet a word.
    const shift = heads.length > 1 ? (heads.indexOf(head) / (heads.length - 1) - 0.5) * 12 : 0;
    const from = (q + 0.5) * ROW + shift;
    const to = (k + 0.5) * ROW + shift;
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M0 ${from}C${width / 2} ${from} ${width / 2} ${to} ${width} ${to}`);
    path.setAttribute("stroke", data.colours[head]);
    path.setAttribute("stroke-width", (0.6 + 3.4 * weight).toFixed(2));
    path.setAttribute("stroke-opacity", (active ? 0.25 + 0.75 * weight : 0.08 + 0.82 * weight).toFixed(3));
    Object.assign(path.dataset, { head, q, k, weight: weight.toFixed(4) });
    return path;
  }));
}

function mark(side, list, active, heads) {
  const isActiveSide = active && active.side === side;
  list.style.setProperty("--heads", heads.length);
  [...list.children].forEach((item, index) => {
    const [, bars, share] = item.children;
    item.classList.toggle("active", Boolean(isActiveSide && active.index === index));
    item.classList.remove("weak");
    bars.replaceChildren();
    share.textContent = "";
    if (!active || isActiveSide) return;
    const weights = heads.map((head) => side === "lookedAt"
      ? shown.weights[head][active.index][index]
      : shown.weights[head][index][active.index]);
    const mean = weights.reduce((a, b) => a + b, 0) / (weights.length || 1);
    item.classList.toggle("weak", Math.max(0, ...weights) < WEAKEST_LINE);
    bars.append(...weights.map((weight, place) => {
      const bar = make("i");
      bar.style.setProperty("--colour", data.colours[heads[place]]);
      bar.style.height = `${(16 * weight).toFixed(1)}px`;
      bar.title = `head ${heads[place] + 1}: ${(100 * weight).toFixed(1)} %`;
      return bar;
    }));
    share.textContent = `${(100 * mean).toFixed(mean < 0.0995 ? 1 : 0)} %`;
  });
}

function make(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

// ---- start ---------------------------------------------------------------------------------

element("source-text").textContent = data.sourceText;
element("target-text").textContent = data.targetText;
element("target-name").textContent = data.isGiven ? "Given target" : "Translation";
element("model").textContent = data.model && `Model: ${data.model}`;
element("words").onchange = (event) => change({ words: event.target.checked, kept: null });
element("all-heads").onclick = () => change({ heads: new Set(data.colours.keys()) });
// These buttons stay, or the second click of a double one would meet a new button.
data.colours.forEach((colour, head) => {
  const button = make("button", "", String(head + 1));
  button.type = "button";
  button.style.setProperty("--colour", colour);
  button.dataset.head = head;
  button.onclick = (event) => {
    const heads = new Set(event.detail > 1 ? [] : state.heads);
    if (!heads.delete(head)) heads.add(head);
    change({ heads });
  };
  element("heads").append(button);
});
window.onkeydown = (event) => {
  if (event.key !== "Escape" || !state.kept) return;
  state.kept = null;
  writeAddress();
  drawAttention();
};
window.onhashchange = () => { readAddress(); draw(); };
window.onresize = () => drawAttention();
readAddress();
draw();
