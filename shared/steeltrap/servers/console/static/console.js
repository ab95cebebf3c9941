// Keys, and what plain pages can't do. Everything here has a link or a button that does the same.
"use strict";

// A dialog that Escape just closed still has the focus for a moment.
const typing = (target) => target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, dialog[open], [contenteditable]");

// The server shows days where the browser is; the first page of all doesn't know where, and is asked for again.
let reloads = false;
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
if (zone && document.documentElement.dataset.timezone !== zone) {
  document.cookie = "steeltrap-timezone=" + zone + "; Path=/; Max-Age=31536000; SameSite=Strict";
  const seen = sessionStorage.getItem("timezone");
  sessionStorage.setItem("timezone", zone);
  reloads = seen !== zone && document.cookie.includes("steeltrap-timezone=" + zone) && document.querySelector("time") !== null;
  if (reloads) location.reload();
}

// The first search of a user loads the index of their memories: that begins with the first page after signing in.
if (!reloads && document.querySelector("nav") && !sessionStorage.getItem("ready")) {
  const loading = document.getElementById("loading");
  const slow = setTimeout(() => { if (loading) loading.hidden = false; }, 400);
  fetch("/console/ready").then((answer) => { if (answer.ok) sessionStorage.setItem("ready", "1"); }).catch(() => {}).finally(() => {
    clearTimeout(slow);
    if (loading) loading.hidden = true;
  });
}

const rows = () => [...document.querySelectorAll(".rows .open")].filter((each) => each.offsetParent !== null);
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

// How many are chosen, and all that are shown at once.
document.addEventListener("change", (event) => {
  const form = event.target.closest("#choose");
  if (!form) return;
  const shown = [...form.querySelectorAll(".choose input")].filter((each) => each.offsetParent !== null);
  if (event.target.matches("[data-choose-all]")) shown.forEach((each) => { each.checked = event.target.checked; });
  const chosen = form.querySelectorAll(".choose input:checked").length;
  form.querySelector("[data-count]").textContent = chosen.toLocaleString("en") + " chosen";
  form.querySelector("[data-choose-all]").checked = shown.length > 0 && shown.every((each) => each.checked);
});

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
});

// Importing: the form alone does it too, without progress.
const form = document.getElementById("import");
if (form) {
  const drop = document.getElementById("drop");
  const input = form.querySelector("[type=file]");
  const text = document.getElementById("progress-text");
  const bar = document.getElementById("progress-bar");
  const result = document.getElementById("imported");
  const inside = (event) => event.dataTransfer?.types.includes("Files");
  const show = (stage, share, seen) => {
    text.textContent = stage + " " + Math.round(share * 100) + " %" + (seen ? ", " + seen.toLocaleString("en") + " so far" : "");
    bar.value = share;
  };
  const say = (sentence) => {
    const p = document.createElement("p");
    p.className = "notice notice-warning";
    p.textContent = sentence;
    result.replaceChildren(p);
  };
  const send = () => {
    const request = new XMLHttpRequest();
    let last = {};
    const read = () => {
      const lines = request.responseText.split("\n").slice(0, -1);
      if (lines.length && request.getResponseHeader("Content-Type")?.includes("ndjson")) {
        last = JSON.parse(lines.at(-1));
        show(last.stage, last.share, last.seen);
      }
    };
    const end = () => {
      document.getElementById("progress").hidden = true;
      form.querySelector("button").disabled = false;
      form.reset();
    };
    request.upload.onprogress = (event) => show("Sending", event.total ? event.loaded / event.total : 0, 0);
    request.onprogress = read;
    request.onload = () => {
      read();
      end();
      // The server escaped it, as every page.
      if (last.html) { result.innerHTML = last.html; return; }
      const page = new DOMParser().parseFromString(request.responseText, "text/html");
      say(page.querySelector("[role=alert] p")?.textContent || "The import failed.");
    };
    request.onerror = () => { end(); say("The connection ended. Import the same file again to go on."); };
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/x-ndjson");
    request.send(new FormData(form));
    result.replaceChildren();
    document.getElementById("progress").hidden = false;
    form.querySelector("button").disabled = true;
    show("Sending", 0, 0);
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); event.stopPropagation(); send(); });
  for (const name of ["dragenter", "dragover"]) {
    addEventListener(name, (event) => { if (inside(event)) { event.preventDefault(); drop.classList.add("is-over"); } });
  }
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("is-over"); });
  addEventListener("drop", (event) => {
    if (!inside(event)) return;
    event.preventDefault();
    drop.classList.remove("is-over");
    if (form.querySelector("button").disabled || !event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    send();
  });
}

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
