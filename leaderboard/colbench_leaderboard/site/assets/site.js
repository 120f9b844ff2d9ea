// Enhancements of the pages: sorting, filters, one dialogue at a time, comparison of two entries, copying.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

// Sorting: each column's header in a table of the class "sortable" becomes a button.
const key = (cell) => {
  const shown = cell.dataset.v ?? cell.textContent.trim();
  const number = Number(shown.replaceAll(",", ""));
  return shown !== "" && !Number.isNaN(number) ? number : shown;
};
const compare = (a, b) =>
  typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });

function sort(table, place, descending) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [key(row.cells[place]), row]);
  const [empty, filled] = [rows.filter(([k]) => k === ""), rows.filter(([k]) => k !== "")];
  filled.sort(([a], [b]) => (descending ? compare(b, a) : compare(a, b)));
  body.append(...[...filled, ...empty].map(([, row]) => row));
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    if (head.tagName !== "TH" || head.dataset.fixed !== undefined) return;
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.classList.contains("n") && head.dataset.low === undefined ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const now = head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", now);
      sort(table, place, now === "descending");
    });
  });
}

// Filters: show only the rows of a table that contain the entered text.
function filtered(box) {
  const table = document.getElementById(box.dataset.filters);
  const count = make("output");
  const input = box.querySelector("input");
  const show = () => {
    const wanted = input.value.trim().toLowerCase();
    const rows = [...table.tBodies[0].rows];
    let left = 0;
    for (const row of rows) {
      row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
      left += row.hidden ? 0 : 1;
    }
    count.textContent = wanted ? `${left} of ${rows.length} shown` : "";
  };
  box.append(count);
  box.hidden = false;
  input.addEventListener("input", show);
  show();
}

// Two entries, A and B: the comparison is a row on A's page.
function chooser(form) {
  const [first, second] = all("select", form);
  form.hidden = false;
  form.querySelector("button").addEventListener("click", () => {
    if (first.value && second.value && first.value !== second.value) {
      location.href = `against/${first.value}.html#${second.value}`;
    }
  });
}

// One dialogue at a time: the one in the address, or else the first.
function reader(main) {
  const dialogues = all(".dialogue", main);
  const walk = make("nav", { className: "walk", ariaLabel: "Dialogues of this page" });
  const previous = make("a", { href: "#" }, "← Previous");
  const next = make("a", { href: "#" }, "Next →");
  const place = make("span", { className: "soft" });
  walk.append(previous, place, next);
  dialogues[0].before(walk);
  const leaf = (name) => document.querySelector(`link[rel=${name}]`)?.getAttribute("href");
  const show = (focus) => {
    const wanted = location.hash.slice(1);
    const now = wanted === "last" ? dialogues.length - 1 : Math.max(0, dialogues.findIndex((each) => each.id === wanted));
    dialogues.forEach((each, n) => each.classList.toggle("chosen", n === now));
    const link = (to, file) => (dialogues[to] ? `#${dialogues[to].id}` : file);
    const aim = (anchor, address) => {
      anchor.hidden = !address;
      if (address) anchor.setAttribute("href", address);
    };
    aim(previous, link(now - 1, leaf("prev") && `${leaf("prev")}#last`));
    aim(next, link(now + 1, leaf("next")));
    place.textContent = `${now + 1} of ${dialogues.length} on this page`;
    if (focus) {
      scrollTo(0, walk.offsetTop - 12);
      dialogues[now].querySelector("h2").focus({ preventScroll: true });
    }
  };
  main.classList.add("single");
  addEventListener("hashchange", () => show(true));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, pre")) return;
    if (event.key === "ArrowLeft" && !previous.hidden) previous.click();
    if (event.key === "ArrowRight" && !next.hidden) next.click();
  });
  show(location.hash !== "");
}

function copier(box) {
  if (!navigator.clipboard) return;
  const button = make("button", { type: "button", className: "do" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(box.querySelector("pre").textContent);
    button.textContent = "Copied";
  });
  box.append(button);
}

all("table.sortable").forEach(sortable);
all("[data-filters]").forEach(filtered);
all("[data-chooser]").forEach(chooser);
all("main.reader").forEach(reader);
all(".command").forEach(copier);
