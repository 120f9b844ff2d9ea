// The table of tasks, and one task with its dialogues. Everything shown is set as text, never as markup.
"use strict";

const FIRST_ROWS = 12;
const MARKS = { true: ["✓", "good", "succeeded"], false: ["✗", "bad", "failed"], null: ["?", "none", "unscored"] };
const LEFT_OUT = new Set(["unstable", "unscorable"]);
const dialog = document.querySelector("dialog.task");
const lists = [];

/** An element with attributes and children; strings become text. */
function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

const percent = (share) => (share === null ? "–" : `${(share * 100).toFixed(share === 0 || share === 1 ? 0 : 1)}%`);

const counted = (amount, noun) => `${amount.toLocaleString("en")} ${noun}${amount === 1 ? "" : "s"}`;

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function mean(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

// ---- The table of tasks

const COLUMNS = [
  { name: "Task", key: (task) => task.rank, cell: (task) => make("th", { scope: "row", class: "id" }, link(task)) },
  { name: "Request", key: null, cell: (task) => make("td", { class: "request" }, task.request) },
  { name: "Outcome", key: (task) => task.success, cell: (task) => make("td", { class: "outcome" }, marks(task)) },
  { name: "Score", key: (task) => task.value, cell: (task) => number(percent(task.value)) },
  { name: "Revealed", key: (task) => task.told, cell: (task) => number(toldOf(task), "wider") },
  { name: "Other mode", key: (task) => task.other, cell: (task) => number(percent(task.other), "wider") },
  { name: "Turns", key: (task) => task.turns, cell: (task) => number(plain(task.turns), "wider") },
  { name: "Human words", key: (task) => task.words, cell: (task) => number(plain(task.words), "wider") },
];
const FAILED = {
  no_answer: "no answer", crashed: "crashed", guessed: "guessed", ignored: "revealed but ignored", wrong_code: "wrong code",
};
const FILTERS = {
  "succeeded in every trial": (task) => task.success === 1,
  "succeeded in some trials": (task) => task.success > 0 && task.success < 1,
  "with an unscored dialogue": (task) => task.trials.some((trial) => !trial || trial.values[0] === null),
  "with a failure of a server or a tool": (task) =>
    task.trials.some((trial) => trial && trial.failed && trial.failed !== "agent"),
  "ended by the turn limit": (task) => task.trials.some((trial) => trial && trial.ended === "limit"),
  "scored differently by the modes": (task) =>
    task.trials.some((trial) => trial && new Set(trial.values.filter((value) => value !== null)).size > 1),
};

/** The choices of a list: all, each class of failures, and the other filters that match a task. */
function choices(list) {
  const found = [["", `all ${list.tasks.length.toLocaleString("en")}`, () => true]];
  for (const [name, words] of Object.entries(FAILED)) {
    found.push([name, words, (task) => task.trials.some((trial) => trial && trial.class === name)]);
  }
  for (const [words, meets] of Object.entries(FILTERS)) found.push([words, words, meets]);
  return found.map(([name, words, meets]) => {
    const amount = list.tasks.filter(meets).length;
    return { name, meets, amount, words: name ? `${words} (${amount.toLocaleString("en")})` : words };
  }).filter((each) => each.amount);
}

const plain = (value) => (value === null ? "–" : Number(value.toFixed(1)).toString());
const number = (text, kind = "") => make("td", { class: `end ${kind}` }, text);
const address = (task) => `#task=${encodeURIComponent(task.id)}`;
/** A text that may be broken after `_`, `-` and `/`. */
const breakable = (text) => text.split(/(?<=[-_/])/).flatMap((part, n) => (n ? [make("wbr"), part] : [part]));
const link = (task) => make("a", { href: address(task), title: task.id }, ...breakable(task.id));

function marks(task) {
  const span = make("span", { class: "marks", role: "img" });
  const said = [];
  for (const trial of task.trials) {
    const [glyph, kind, words] = MARKS[trial ? trial.success : null];
    span.append(make("span", { class: kind }, glyph));
    said.push(trial && trial.class ? FAILED[trial.class] : words);
  }
  span.setAttribute("aria-label", said.join(", "));
  const reasons = [...new Set(task.trials.map((trial) => trial && trial.class).filter(Boolean))];
  const shown = make("span", { "aria-hidden": "true" }, reasons.map((name) => FAILED[name]).join(", "));
  return make("span", {}, span, reasons.length ? " " : "", shown);
}

/** A text such as "3 of 5": how many hidden decisions were revealed, summed over the trials. */
function toldOf(task) {
  const known = task.trials.map((trial) => trial && trial.told).filter(Boolean);
  const sum = (place) => known.reduce((total, each) => total + each[place], 0);
  return known.length ? `${sum(0)} of ${sum(1)}` : "–";
}

function scoreMark(trial) {
  const score = percent(trial ? trial.values[0] : null);
  return [score, "", score];
}

class TaskList {
  constructor(place) {
    this.place = place;
    const index = JSON.parse(place.querySelector(".index").textContent);
    this.modes = index.modes;
    this.measure = index.measure;
    this.success = index.success;
    this.differ = index.differ;
    this.asking = index.asking;
    this.noun = index.noun;
    this.language = index.language;
    this.pages = index.pages;
    this.block = index.block;
    this.packed = [...place.querySelectorAll(".block")];
    this.unpacked = new Map();
    this.tasks = index.tasks.map((task, order) => measured(task, order, this.modes));
    this.columns = COLUMNS.filter((column) =>
      (column.name !== "Other mode" || this.differ) && (column.name !== "Outcome" || this.success) &&
      (column.name !== "Revealed" || this.asking));
    [...this.tasks].sort((a, b) => (a.id < b.id ? -1 : 1)).forEach((task, rank) => { task.rank = rank; });
    this.sorted = { column: null, up: true };  // worst first
    this.choices = choices(this);
    this.rows = FIRST_ROWS;
    this.build();
    this.show();
  }

  build() {
    const change = () => { this.rows = FIRST_ROWS; this.show(); };
    this.search = make("input", { type: "search", oninput: change });
    this.filter = make("select", { onchange: change },
      ...this.choices.map((each) => make("option", { value: each.name }, each.words)));
    this.count = make("output");
    this.heads = this.columns.map((column) => this.head(column));
    this.body = make("tbody");
    this.more = make("button", { type: "button", class: "more", onclick: () => { this.rows += 400; this.show(); } });
    this.place.append(
      make("h2", {}, this.place.dataset.title),
      make("div", { class: "tools" },
        make("label", {}, "Find", this.search), make("label", {}, "Show", this.filter), this.count),
      make("div", { class: "list scroll" },
        make("table", {}, make("caption", {}, "Tasks; the buttons in the first row sort"),
          make("thead", {}, make("tr", {}, ...this.heads)), this.body),
        this.more));
  }

  head(column) {
    const score = capital(this.measure);
    const title = { "Other mode": `${score}, ${this.modes[1]}`, Score: score }[column.name] || column.name;
    const kind = ["Task", "Request", "Outcome"].includes(column.name) ? "" : "end";
    const wider = ["Revealed", "Other mode", "Turns", "Human words"].includes(column.name) ? "wider" : "";
    const head = make("th", { scope: "col", class: `${kind} ${wider} ${column.name.toLowerCase()}` });
    head.append(column.key ? make("button", { type: "button", onclick: () => this.sort(column) }, title) : title);
    return head;
  }

  sort(column) {
    this.sorted = { column, up: this.sorted.column === column ? !this.sorted.up : column.name === "Task" };
    this.show();
  }

  show() {
    const text = this.search.value.toLowerCase();
    const wanted = this.choices.find((each) => each.name === this.filter.value);
    const { column, up } = this.sorted;
    const value = (task) => (column ? column.key(task) ?? -1 : badness(task));
    this.shown = this.tasks.filter((task) => wanted.meets(task) && (!text || task.text.includes(text)));
    this.shown.sort((a, b) => (up ? value(a) - value(b) : value(b) - value(a)) || a.order - b.order);
    this.heads.forEach((head, n) => {
      if (this.columns[n] === column) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    this.body.replaceChildren(...this.shown.slice(0, this.rows).map((task) => this.row(task)));
    this.count.value = `${this.shown.length.toLocaleString("en")} of ${counted(this.tasks.length, "task")}`;
    this.more.hidden = this.shown.length <= this.rows;
    this.more.textContent = `Show more (${(this.shown.length - this.rows).toLocaleString("en")} left)`;
  }

  /** Show the tasks that a link names: those of a class, or those with a text. */
  choose({ filter = "", find = "" }) {
    this.filter.value = filter;
    this.search.value = find;
    this.rows = FIRST_ROWS;
    this.show();
  }

  row(task) {
    return make("tr", {}, ...this.columns.map((column) => column.cell(task)));
  }

  /** Everything about a task; decompresses its block. */
  async detail(task) {
    const number = Math.floor(task.order / this.block);
    if (!this.unpacked.has(number)) this.unpacked.set(number, await unpack(this.packed[number].textContent));
    return this.unpacked.get(number)[task.order % this.block];
  }
}

function measured(task, order, modes) {
  const trials = task.trials.filter(Boolean);
  return {
    ...task, order,
    text: `${task.id} ${task.family} ${task.request}`.toLowerCase(),
    told: mean(trials.map((trial) => (trial.told && trial.told[1] ? trial.told[0] / trial.told[1] : null))),
    value: mean(trials.map((trial) => trial.values[0])),
    other: modes.length > 1 ? mean(trials.map((trial) => trial.values[1])) : null,
    success: mean(trials.map((trial) => (trial.success === null ? null : Number(trial.success)))),
    turns: mean(trials.map((trial) => trial.turns)),
    words: mean(trials.map((trial) => trial.words)),
  };
}

/** The sort key of the initial order: tasks without success in every trial (by score), unscored tasks, then the others. */
function badness(task) {
  if (task.value === null) return 1.5;
  return task.success === 1 ? 2 + task.value : task.value;
}

async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// ---- One task

const titled = (title, ...children) => make("section", {}, make("h3", {}, title), ...children);

let opened = null;  // the task that was opened last

async function openTask(list, task) {
  opened = task;
  dialog.querySelector("h2").textContent = task.id;
  const place = list.shown.indexOf(task);
  step(".previous", list.shown[place - 1]);
  step(".next", place < 0 ? undefined : list.shown[place + 1]);
  const trials = dialog.querySelector(".trials");
  const content = dialog.querySelector(".content");
  trials.replaceChildren();
  content.replaceChildren(make("p", {}, "Unpacking …"));
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("h2").focus();
  const detail = await list.detail(task).catch((error) => ({ error }));
  if (opened !== task) return;
  if (detail.error) {
    content.replaceChildren(
      make("p", {}, `This browser cannot unpack the dialogue (${detail.error}); it is in rollouts.jsonl.`));
    return;
  }
  const further = task.page ? make("p", { class: "across" }, make("a", { href: task.page }, `See it in the ${list.pages}`)) : "";
  const choose = (number) => {
    [...trials.children].forEach((button, n) => button.setAttribute("aria-pressed", n === number));
    content.replaceChildren(...[further].filter(Boolean), ...parts(list, detail, detail.trials[number]));
    content.scrollTop = 0;
  };
  if (detail.trials.length > 1) {
    trials.append(...task.trials.map((trial, n) => {
      const [glyph, kind, words] = list.success ? MARKS[trial ? trial.success : null] : scoreMark(trial);
      const name = `Trial ${n + 1} `;
      return make("button", { type: "button", "aria-label": `${name}${words}`, onclick: () => choose(n) },
        name, make("span", { class: kind }, glyph));
    }));
  }
  choose(0);
}

function step(selector, task) {
  const anchor = dialog.querySelector(selector);
  if (task) anchor.href = address(task);
  else anchor.removeAttribute("href");
}

function parts(list, detail, rollout) {
  if (!rollout) return [make("p", {}, "This dialogue has not been held yet.")];
  return [talk(list, detail, rollout),
    make("div", {}, decisions(rollout), verdicts(list, rollout), codes(list, detail, rollout), checks(list, rollout))];
}

function talk(list, detail, rollout) {
  const said = [bubble("human", "Human", detail.request)];
  rollout.turns.forEach((turn, n) => {
    const last = n === rollout.turns.length - 1 && rollout.answer !== null;
    said.push(agentSaid(list, turn, n + 1, last ? rollout.ended : null));
    if (turn.human !== null) said.push(humanSaid(turn));
  });
  if (rollout.failure) {
    said.push(make("p", { class: "remark" }, `Failure of the ${rollout.failure.boundary}: ${rollout.failure.reason}`));
  }
  if (rollout.ended === "limit") {
    said.push(make("p", { class: "remark" }, "The turn limit was reached: the whole last message is the answer."));
  }
  return titled("Dialogue", ...said);
}

function agentSaid(list, turn, number, ended) {
  const hidden = turn.private &&
    make("details", {}, make("summary", {}, "Private, not seen by the human"), make("p", {}, turn.private));
  const text = [turn.said, ended === "answer" ? "[gives the answer]" : ""].filter(Boolean).join("\n\n");
  const score = turn.metrics && make("p", { class: "leak" }, `This ${list.noun}: ${metrics(turn.metrics)}`);
  const asked = turn.asked.length ? `Agent, turn ${number}, asks for: ${names(turn.asked)}` : `Agent, turn ${number}`;
  return bubble("agent", asked, text || "[says nothing]", hidden, score || "");
}

function humanSaid(turn) {
  const shares = turn.leak ? Object.entries(turn.leak).filter(([, share]) => share > 0) : [];
  const leak = shares.map(([kind, share]) => `${kind} ${percent(share)}`).join(", ");
  const who = turn.told.length ? `Human, tells: ${names(turn.told)}` : "Human";
  return bubble("human", who, turn.human, "", leak && make("p", { class: "leak" }, `New from the reference: ${leak}`));
}

const names = (decisions) => decisions.map((name) => name.replaceAll("_", " ")).join(", ");

/** Decisions that were never revealed, that were guessed right, or that were revealed but ignored. */
function decisions(rollout) {
  const lines = [["Never revealed", rollout.untold], ["Guessed right", rollout.guessed], ["Revealed but ignored", rollout.ignored]];
  const shown = lines.filter(([, found]) => found.length);
  return shown.length ? make("p", { class: "missed" },
    ...shown.flatMap(([title, found], n) => [n ? make("br") : "", make("b", {}, `${title}: `), names(found)])) : "";
}

function bubble(role, who, text, before = "", after = "") {
  return make("div", { class: `said ${role}` },
    make("p", { class: "who" }, who), before, make("div", { class: "text" }, text), after);
}

function verdicts(list, rollout) {
  return make("div", { class: "verdicts" }, ...modesOf(list, rollout).map((mode) => verdict(list, mode, rollout.scores[mode])));
}

/** The leading mode, and the other mode if its verdict on a dialogue differs. */
function modesOf(list, rollout) {
  const worth = (mode) => (rollout.scores[mode] ? rollout.scores[mode].value : null);
  return list.modes.filter((mode, n) => !n || worth(mode) !== worth(list.modes[0]));
}

const shown = (value) => (typeof value === "string" ? value : percent(value));
const metrics = (taken) => taken.map(([name, value]) => `${name} ${shown(value)}`).join(", ");

function verdict(list, mode, score) {
  if (!score || score.value === null) {
    return make("div", { class: "verdict unknown" }, make("b", {}, `${mode}: not scored`),
      score && score.note ? make("p", {}, score.note) : "");
  }
  const passed = score.checks.filter((check) => check[1] === "passed").length;
  const tests = score.checks.length ? `, ${passed} of ${counted(score.checks.length, "test")}` : "";
  const measure = tests ? "" : `${list.measure} `;
  const kind = { true: "yes", false: "no", null: "" }[score.success];
  return make("div", { class: `verdict ${kind}` },
    make("b", {}, `${mode}: ${measure}${percent(score.value)}${tests}`),
    score.metrics.length ? make("p", {}, metrics(score.metrics)) : "",
    score.note ? make("p", {}, score.note) : "",
    make("p", {}, [score.scorer, score.environment].filter(Boolean).join("; ")));
}

function codes(list, detail, rollout) {
  const shown = list.language === "python" ? code : plainCode;
  const answer = rollout.answer === null ? make("p", {}, "There is none.") : shown(rollout.answer);
  const information = detail.information ? titled("What the human was told", shown(detail.information)) : "";
  return make("div", {},
    make("div", { class: "codes" }, titled("Answer", answer), titled("Reference", shown(detail.reference))), information);
}

function checks(list, rollout) {
  const modes = modesOf(list, rollout);
  const [lead, other] = modes.map((mode) => (rollout.scores[mode] ? rollout.scores[mode].checks : []));
  const rows = lead.length ? lead : other || [];
  if (!rows.length) return "";
  const heads = ["Call", "Expected", "Got", ...modes.map(capital)];
  const body = rows.map(([call, , expected, actual], n) => make("tr", {},
    make("td", {}, source(call)), make("td", {}, source(expected)), make("td", {}, ...got(actual, lead, other, n)),
    outcome(lead[n]), ...(modes.length > 1 ? [outcome(other[n])] : [])));
  return titled("Hidden tests", make("div", { class: "checks" }, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...body))));
}

/** The value in the leading mode, and below it the value in the other mode if it differs. */
function got(actual, lead, other, n) {
  const differs = other && lead[n] && other[n] && other[n][3] !== lead[n][3] && other[n][3];
  return differs ? [source(actual), make("br"), make("small", {}, "other mode: "), source(other[n][3])] : [source(actual)];
}

function outcome(check) {
  if (!check) return make("td", {}, "–");
  return make("td", { class: check[1] === "passed" ? "good" : LEFT_OUT.has(check[1]) ? "none" : "bad" }, check[1]);
}

// ---- Code

const TOKENS = /(#.*)|("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b|\b(\d[\d_.]*(?:e[+-]?\d+)?)\b/g;
const KINDS = ["comment", "string", "word", "digit"];
const LONGEST_HIGHLIGHT = 20000;

const source = (text) => make("code", {}, ...highlighted(text));
const code = (text) => make("pre", { tabindex: "0" }, source(text));
const plainCode = (text) => make("pre", { tabindex: "0" }, make("code", {}, text));

function highlighted(text) {
  if (text.length > LONGEST_HIGHLIGHT) return [text];
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(TOKENS)) {
    const kind = KINDS[found.slice(1).findIndex((group) => group !== undefined)];
    parts.push(text.slice(end, found.index), make("span", { class: kind }, found[0]));
    end = found.index + found[0].length;
  }
  return [...parts, text.slice(end)];
}

// ---- URLs: `#task=ID` opens a task, so that it can be linked and the back button closes it

function follow() {
  const id = linkedId();
  for (const list of lists) {
    const task = list.tasks.find((each) => each.id === id);
    if (task) return openTask(list, task);
  }
  return dialog.close();
}

for (const place of document.querySelectorAll(".tasks")) lists.push(new TaskList(place));
for (const anchor of document.querySelectorAll("[data-filter], [data-find]")) {
  anchor.addEventListener("click", (event) => {
    const list = lists.find(({ place }) => place.id === anchor.hash.slice(1));
    if (!list) return;  // the tables of a large run are on other pages, to which the link's target links
    event.preventDefault();
    list.choose(anchor.dataset);
    list.place.scrollIntoView();
    list.place.focus({ preventScroll: true });
  });
}
for (const anchor of document.querySelectorAll(".jump a")) {
  anchor.addEventListener("click", () => {
    const place = anchor.hash && document.querySelector(anchor.hash);
    if (place && place.tagName === "DETAILS") place.open = true;
  });
}
for (const button of document.querySelectorAll(".unfold")) {
  button.addEventListener("click", () => {
    const table = button.closest("table");
    table.querySelector(".rest").hidden = false;
    table.querySelector("tfoot").remove();
  });
}
dialog.querySelector(".close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("close", () => {
  if (location.hash.startsWith("#task=")) history.replaceState(null, "", location.pathname + location.search);
});
for (const anchor of dialog.querySelectorAll("nav a")) {
  anchor.addEventListener("click", (event) => {
    event.preventDefault();
    if (anchor.hasAttribute("href")) location.replace(anchor.getAttribute("href"));
  });
}
addEventListener("hashchange", follow);
follow();
