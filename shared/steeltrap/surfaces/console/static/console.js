// Keys, and what plain pages can't do. Everything here has a link or a button that does the same.
"use strict";

const typing = (target) => target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, dialog, [contenteditable]");
const rows = () => [...document.querySelectorAll("#rows .open")];
const at = () => rows().indexOf(document.activeElement);
const current = () => document.activeElement.closest(".row[data-id]") || document.getElementById("memory");

function move(step) {
  const all = rows();
  if (!all.length) return;
  const next = all[at() < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at() + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

// A change as a form makes it: the browser sends its origin, and shows the answer.
function change(action, fields) {
  const found = current();
  if (!found || !document.querySelector(".new")) return;
  const form = document.createElement("form");
  form.method = "post";
  form.action = "/console/memories/" + encodeURIComponent(found.dataset.id) + "/" + action;
  for (const [name, value] of Object.entries({ version: found.dataset.version, ...fields(found) })) {
    const input = document.createElement("input");
    input.type = "hidden";
    input.name = name;
    input.value = value;
    form.append(input);
  }
  document.body.append(form);
  form.submit();
}

const keys = {
  "/": () => {
    const search = document.getElementById("q");
    if (search) { search.focus(); search.select(); } else { location.assign("/"); }
  },
  j: () => move(1),
  k: () => move(-1),
  x: () => document.activeElement.closest(".row")?.querySelector(".choose input")?.click(),
  e: () => {
    const found = current();
    if (found && document.querySelector(".new")) location.assign("/console/memories/" + encodeURIComponent(found.dataset.id) + "/edit");
  },
  p: () => change("pin", (found) => ({ pinned: found.dataset.pinned === "true" ? "false" : "true", back: location.pathname + location.search })),
  Delete: () => change("delete", () => ({})),
  n: () => document.querySelector(".new")?.click(),
  u: () => document.querySelector("[data-up]")?.click(),
  "?": () => document.getElementById("keys")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat && event.key === "Delete") return;
  if (event.key === "Escape" && event.target.id === "q") { event.target.blur(); return; }
  if (event.key === "ArrowDown" && event.target.id === "q") { event.preventDefault(); move(1); return; }
  if (event.key === "Escape" && event.target.closest(".sheet")) { event.target.blur(); return; }
  if (typing(event.target) || !(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
});

// One submission each: a second click finds the button disabled. The server holds without this, too.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  setTimeout(() => event.target.querySelectorAll("button").forEach((button) => { button.disabled = true; }));
});
addEventListener("pageshow", () => document.querySelectorAll("form button[disabled]").forEach((button) => { button.disabled = false; }));

// The server is away, or answered with a fault: what is shown must not look like an answer.
document.addEventListener("htmx:sendError", () => {
  const status = document.getElementById("status");
  if (status) status.textContent = "The server doesn't answer. What is shown may be out of date.";
});
