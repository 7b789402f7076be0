"use strict";
// Makes tables sortable and filterable, and queries easy to copy. The page reads well without it.

const COPIED_MS = 1500;

/** An element with properties and children; text always through textContent, so that it stays text. */
function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without the permission (or a secure context): through a selection.
    const area = make("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), COPIED_MS);
}

function copyButton(text) {
  const button = make("button", { type: "button", textContent: "Copy" });
  button.addEventListener("click", () => copy(text(), button));
  return button;
}

/** What a cell is ordered by: its exact number, or its text; nothing comes last. */
function sortKey(row, index, numeric) {
  const cell = row.cells[index];
  if (!numeric) return cell.textContent;
  const text = cell.dataset.v ?? cell.textContent.replace(/\u202f/g, "").replace("−", "-");
  return text === "–" ? NaN : text === "∞" ? Infinity : text === "-∞" ? -Infinity : parseFloat(text);
}

const collator = new Intl.Collator("en", { numeric: true });

function compare(a, b, sign) {
  if (typeof a === "string") return sign * collator.compare(a, b);
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return a === b ? 0 : sign * (a < b ? -1 : 1);
}

function setUpTable(box) {
  const table = box.querySelector("table");
  if (!table) return;
  const body = table.tBodies[0];
  const original = [...body.rows];
  const limit = Number(table.dataset.limit);
  const note = box.querySelector(".count");
  const said = note.textContent;
  const held = original.length;
  let rows = original;
  let filter = "";

  function refresh() {
    const found = filter ? rows.filter((row) => row.textContent.toLowerCase().includes(filter)) : rows;
    rows.forEach((row) => (row.hidden = true));
    found.forEach((row, at) => {
      row.hidden = false;
      row.classList.toggle("more", at >= limit);
    });
    const all = !table.classList.contains("short");
    text.textContent = filter
      ? `${found.length} rows match in ${held}`
      : all && held > limit ? `all ${held} rows of this page` : said;
    more.hidden = found.length <= limit;
    more.textContent = all ? `Show ${limit}` : `Show ${found.length}`;
  }

  function sort(index, heading) {
    const numeric = heading.classList.contains("n");
    const now = heading.getAttribute("aria-sort");
    const next = numeric
      ? { descending: "ascending", ascending: null }[now] ?? (now ? null : "descending")
      : { ascending: "descending", descending: null }[now] ?? (now ? null : "ascending");
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    rows = original;
    if (next) {
      heading.setAttribute("aria-sort", next);
      const keyed = original.map((row) => [sortKey(row, index, numeric), row]);
      keyed.sort((a, b) => compare(a[0], b[0], next === "ascending" ? 1 : -1));
      rows = keyed.map((pair) => pair[1]);
    }
    body.append(...rows);
    refresh();
  }

  const text = make("span");
  const more = make("button", { type: "button", className: "link" });
  more.addEventListener("click", () => {
    table.classList.toggle("short");
    refresh();
  });
  note.replaceChildren(text, " ", more);
  [...table.tHead.rows[0].cells].forEach((heading, index) => {
    const button = make("button", { type: "button" }, ...heading.childNodes);
    button.addEventListener("click", () => sort(index, heading));
    heading.append(button);
  });
  if (held > limit) {
    const input = make("input", { type: "search", className: "filter", placeholder: "Filter rows" });
    input.setAttribute("aria-label", "Filter rows");
    input.addEventListener("input", () => {
      filter = input.value.trim().toLowerCase();
      refresh();
    });
    box.prepend(input);
  }
  refresh();
}

/** A rounded number says its exact value when pointed at. */
function showExact(event) {
  const cell = event.target.closest?.("td[data-v]");
  if (!cell || cell.title) return;
  const unit = cell.closest("table").tHead.rows[0].cells[cell.cellIndex].dataset.unit;
  const whole = cell.dataset.v.replace(/^\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u202f"));
  cell.title = whole + ({ ns: "\u202fns", bytes: "\u202fbytes" }[unit] ?? "");
}

document.querySelectorAll("div.table").forEach(setUpTable);
document.querySelectorAll(".sql").forEach((details) => {
  details.append(copyButton(() => details.querySelector("pre").textContent));
});
document.addEventListener("pointerover", showExact);
