"use strict";
/* Keys: j and k go to the next and the previous dialogue or row, / to the search, u to the list. */
const typing = (place) => place.closest("input, select, textarea") !== null;

function step(way) {
  const link = document.querySelector(`a[rel="${way}"]`);
  if (link) { link.click(); return; }
  const rows = [...document.querySelectorAll(".list tbody a")];
  const now = rows.indexOf(document.activeElement);
  const next = way === "next" ? now + 1 : Math.max(now - 1, 0);
  rows[Math.min(next, rows.length - 1)]?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "j") step("next");
  else if (event.key === "k") step("prev");
  else if (event.key === "u") document.querySelector('a[rel="up"]')?.click();
  else if (event.key === "/") {
    const search = document.querySelector('input[type="search"]');
    if (!search) return;
    event.preventDefault();
    search.focus();
  }
});

/* While a run goes on, the list says how many dialogues were added. */
const EVERY = 3000;
const news = document.querySelector("#news");

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
