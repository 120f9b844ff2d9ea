"use strict";
const $ = (selector) => document.querySelector(selector);
const typing = (place) => place.closest("input:not([type=range]), select, textarea") !== null;

/* ---- Keys */
const help = $("dialog.help");
const showHelp = () => { if (!help.open) help.showModal(); };

function step(way) {
  const link = $(`a[rel="${way}"]`);
  if (link) { link.click(); return; }
  const rows = [...document.querySelectorAll(".list tbody a")];
  const now = rows.indexOf(document.activeElement);
  const next = way === "next" ? now + 1 : Math.max(now - 1, 0);
  rows[Math.min(next, rows.length - 1)]?.focus();
}

function write() {
  const note = $("details.note");
  if (!note) return;
  note.open = true;
  note.querySelector("textarea").focus();
}

const KEYS = {
  "j": () => step("next"),
  "k": () => step("prev"),
  "u": () => $('a[rel="up"]')?.click(),
  "/": () => $('input[type="search"]')?.focus(),
  "n": write,
  "?": showHelp,
  "]": () => nextStage(1),
  "[": () => nextStage(-1),
  "s": () => setMode("slider"),
  "b": () => setMode("sides"),
  "d": () => setMode("difference"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.key === "Escape" && typing(event.target)) event.target.blur();
  if (typing(event.target) || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});
for (const button of document.querySelectorAll("[data-help]")) {
  button.hidden = false;
  button.addEventListener("click", showHelp);
}

/* ---- Filters: URLs without empty fields, a choice applies immediately, collapsed on phones */
const filters = $("form.filters");
if (filters) {
  filters.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (!value) formData.delete(name);
  });
  for (const choice of filters.querySelectorAll("select")) choice.addEventListener("change", () => filters.requestSubmit());
  const fold = filters.querySelector("details");
  if (matchMedia("(max-width: 640px)").matches) fold.open = false;
}

/* ---- During a run, the list shows how many dialogues were added */
const EVERY = 3000;
const news = $("#news");

async function look() {
  try {
    const { dialogues } = await (await fetch("/count")).json();
    const added = dialogues - Number(news.dataset.dialogues);
    if (added > 0) {
      const link = document.createElement("a");
      link.href = location.href;
      link.textContent = `${added} more; show`;
      news.replaceChildren(link);
    }
  } catch {
    return; // the server has ended
  }
  setTimeout(look, EVERY);
}

if (news) setTimeout(look, EVERY);

/* ---- Pictures: one turn at a time, rendered by the server on first view */
const stages = [...document.querySelectorAll(".stage")];

function setMode(mode) {
  const place = $(".stages");
  if (!place) return;
  place.dataset.mode = mode;
  for (const button of place.querySelectorAll("button[data-mode]")) {
    button.setAttribute("aria-pressed", button.dataset.mode === mode);
  }
}

async function load(stage) {
  if (!stage.dataset.address) return;
  const { address } = stage.dataset;
  delete stage.dataset.address;
  const place = stage.querySelector(".pictures");
  try {
    const made = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
    place.replaceChildren(...made.body.childNodes);
    if (place.querySelector(".lacking")) stage.dataset.address = address; // retried on the next view
  } catch {
    stage.dataset.address = address;
    place.firstElementChild.textContent = "The server does not respond; reload the page when it is running again.";
  }
}

function showStage(chosen) {
  for (const stage of stages) stage.hidden = stage !== chosen;
  const bar = $(".turnbar");
  for (const link of bar.querySelectorAll("a")) {
    const current = link.hash === `#${chosen.id}`;
    if (current) bar.scrollLeft = link.offsetLeft - bar.offsetLeft - bar.clientWidth / 2;
    if (current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  load(chosen);
}

function nextStage(way) {
  const next = stages[stages.findIndex((stage) => !stage.hidden) + way];
  if (!next) return;
  history.replaceState(null, "", `#${next.id}`);
  showStage(next);
}

function follow() {
  const named = stages.find((stage) => `#${stage.id}` === location.hash);
  if (named) showStage(named);
}

if (stages.length) {
  $(".stages .tools").hidden = false;
  $(".stages").addEventListener("click", (event) => {
    const { mode } = event.target.closest("button")?.dataset ?? {};
    if (mode) setMode(mode);
    const turn = event.target.closest(".turnbar a");
    if (!turn) return;
    event.preventDefault();
    history.replaceState(null, "", turn.hash);
    follow();
  });
  $(".stages").addEventListener("input", ({ target }) => {
    target.closest(".layers").style.setProperty("--cut", `${target.value}%`);
  });
  addEventListener("hashchange", follow);
  showStage(stages.find((stage) => !stage.hidden));
  follow();
}
