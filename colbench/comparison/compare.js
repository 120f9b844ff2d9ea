// The tasks with different results, and the dialogues of one task side by side. The HTML of the dialogues is in
// compressed blocks; its texts were escaped when the page was made. Everything else is set as text.
"use strict";

const FIRST_ROWS = 100;
const dialog = document.querySelector("dialog.task");
const lists = [];

/** An element with attributes and children; strings become text. */
function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const percent = (share) => (share === null ? "–" : `${(share * 100).toFixed(share === 0 || share === 1 ? 0 : 1)}%`);
const counted = (amount) => `${amount.toLocaleString("en")} task${amount === 1 ? "" : "s"}`;
const address = (task) => `#task=${encodeURIComponent(task.id)}`;

class TaskList {
  constructor(place) {
    this.tasks = JSON.parse(place.querySelector(".index").textContent)
      .map((task, order) => ({ ...task, order, text: `${task.id} ${task.family}`.toLowerCase() }));
    this.packed = [...place.querySelectorAll(".block")];
    this.unpacked = new Map();
    this.size = Number(place.dataset.block);
    this.rows = FIRST_ROWS;
    this.search = place.querySelector("input");
    this.filter = place.querySelector("select");
    this.count = place.querySelector("output");
    this.body = place.querySelector("tbody");
    this.more = place.querySelector(".more");
    this.search.addEventListener("input", () => this.show());
    this.filter.addEventListener("change", () => this.show());
    this.more.addEventListener("click", () => { this.rows = Infinity; this.show(); });
    this.show();
  }

  show() {
    const text = this.search.value.toLowerCase();
    const { high, low } = this.filter.selectedOptions[0].dataset;
    const ahead = (task) => high === undefined || (task.values[low] !== null && task.values[high] > task.values[low]);
    this.shown = this.tasks.filter((task) => task.text.includes(text) && ahead(task));
    this.body.replaceChildren(...this.shown.slice(0, this.rows).map((task) => this.row(task)));
    this.count.value = `${this.shown.length.toLocaleString("en")} of ${counted(this.tasks.length)}`;
    this.more.hidden = this.shown.length <= this.rows;
  }

  row(task) {
    const best = Math.max(...task.values.filter((value) => value !== null));
    const cell = (value) => make("td", { class: value === best ? "end best" : "end" }, percent(value));
    return make("tr", {}, make("th", { scope: "row", class: "id" }, make("a", { href: address(task) }, task.id)),
      make("td", { class: "wider" }, task.family), ...task.values.map(cell));
  }

  /** Return the HTML about a task; decompress the block that contains it, if this was not done before. */
  async detail(task) {
    const number = Math.floor(task.order / this.size);
    if (!this.unpacked.has(number)) this.unpacked.set(number, await unpack(this.packed[number].textContent));
    return this.unpacked.get(number)[task.order % this.size];
  }
}

async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

let opened = null;  // the task that was opened last

async function openTask(list, task) {
  opened = task;
  const content = dialog.querySelector(".comparison");
  dialog.querySelector("h2").textContent = task.id;
  const place = list.shown.indexOf(task);
  step(".previous", list.shown[place - 1]);
  step(".next", place < 0 ? undefined : list.shown[place + 1]);
  content.replaceChildren(make("p", {}, "Unpacking …"));
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("h2").focus();
  const detail = await list.detail(task).catch((error) => ({ error }));
  if (opened !== task) return;
  if (detail.error) content.replaceChildren(make("p", {}, `This browser cannot unpack the dialogues (${detail.error}).`));
  else content.innerHTML = detail;
  content.scrollTop = 0;
  showTrials(content);
}

function showTrials(content) {
  const trials = [...content.querySelectorAll(".trial")];
  const buttons = trials.map((trial, n) =>
    make("button", { type: "button", onclick: () => choose(n) }, `Trial ${trial.dataset.trial}`));
  const choose = (number) => {
    trials.forEach((trial, n) => { trial.hidden = n !== number; });
    buttons.forEach((button, n) => button.setAttribute("aria-pressed", n === number));
  };
  dialog.querySelector(".trials").replaceChildren(...(trials.length > 1 ? buttons : []));
  choose(0);
}

function step(selector, task) {
  const anchor = dialog.querySelector(selector);
  if (task) anchor.href = address(task);
  else anchor.removeAttribute("href");
}

function go(anchor) {
  if (anchor.hasAttribute("href")) location.replace(anchor.getAttribute("href"));
}

// ---- URLs and keys: `#task=ID` opens a task, so that it can be linked and the back button closes it

function follow() {
  const id = linkedId();
  for (const list of lists) {
    const task = list.tasks.find((each) => each.id === id);
    if (task) return openTask(list, task);
  }
  return dialog.close();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
  const list = lists[0];
  if (event.key === "/" && list && !dialog.open) {
    event.preventDefault();
    list.search.focus();
  } else if (event.key === "j") {
    if (dialog.open) go(dialog.querySelector(".next"));
    else if (list && list.shown.length) location.hash = address(list.shown[0]);
  } else if (event.key === "k" && dialog.open) go(dialog.querySelector(".previous"));
}

for (const place of document.querySelectorAll(".tasks")) {
  if (place.querySelector(".index")) lists.push(new TaskList(place));
}
dialog.querySelector(".close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("close", () => {
  if (location.hash.startsWith("#task=")) history.replaceState(null, "", location.pathname + location.search);
});
for (const anchor of dialog.querySelectorAll("nav a")) {
  anchor.addEventListener("click", (event) => { event.preventDefault(); go(anchor); });
}
addEventListener("keydown", onKey);
addEventListener("hashchange", follow);
follow();
