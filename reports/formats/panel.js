// What stands around the timeline's canvas: the chosen operation with its query, names in view, rows to show, keys.

const KEYS = [
  ["← →  or  A D", "move earlier or later"],
  ["+ −  or  W S", "zoom in or out; also Ctrl and the wheel"],
  ["0  or  Home", "show everything"],
  [". and ,", "choose the next or the previous operation of the lane"],
  ["N and P", "show the next or the previous iteration"],
  ["↑ ↓", "choose another lane"],
  ["Esc", "choose nothing"],
  ["?", "this list"],
];

/** The query for one operation of a lane: by its times, and where others share them by its place among these. */
function queryOf(row, index, base) {
  let first = index, last = index;
  const same = (at) => row.start[at] === row.start[index] && row.end[at] === row.end[index];
  while (first > 0 && same(first - 1)) first--;
  while (last + 1 < row.count && same(last + 1)) last++;
  const place = first < last ? `\norder by name, correlation\nlimit 1 offset ${index - first}` : "";
  const start = base + BigInt(row.start[index]), end = base + BigInt(row.end[index]);
  return `select *\nfrom (\n${row.sql}\n)\nwhere start_ns = ${start} and end_ns = ${end}${place}`;
}

/** The query for what a lane does from one time to another. */
function queryBetween(row, from, to, base) {
  const [start, end] = [from, to].map((time) => base + BigInt(time));
  const touching = `where start_ns < ${end} and (end_ns > ${start} or start_ns >= ${start})`;
  return `select *\nfrom (\n${row.sql}\n)\n${touching}\norder by start_ns, end_ns, name`;
}

function queryBox(sql) {
  return make("div", { className: "sql" }, make("pre", { tabIndex: 0 }, make("code", { textContent: sql })), copyButton(() => sql));
}

const amount = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });

/** A row's label; of a curve with the least and the most of its values. */
function labelOf(row) {
  if (row.kind !== "curve" || !row.count) return row.label;
  const least = row.value.reduce((a, b) => Math.min(a, b)), most = row.value.reduce((a, b) => Math.max(a, b));
  Object.assign(row, { least, most });
  return `${row.label}, ${amount.format(least)} to ${amount.format(most)} ${row.unit}`.trim();
}

/** What the pointer is on, in words: the name, then the rest. */
function operationWords({ row, index, count }, names) {
  const start = row.start[index];
  if (row.kind === "curve") return [`${grouped(row.value[index])} ${row.unit}`.trim(), `from ${exact(start)} · ${row.label}`];
  const more = count > 1 ? [`the longest of ${grouped(count)} here: zoom in for the others`] : [];
  return [names[row.name[index]], `${exact(row.end[index] - start)} from ${exact(start)} · ${row.label}`, ...more];
}

/** What a bin holds, in words. */
function binWords({ row, level, bin }, names) {
  const share = (level.busy[bin] * 100).toFixed(0), times = counted(level.count[bin], "operation");
  const begin = level.first + bin * level.width;
  return [names[level.name[bin] - 1], `takes most of ${rounded(level.width)} from ${exact(begin)} · ${row.label}`,
    `busy ${share}\u202f%, ${times} begin here, not in this page one by one`];
}

function button(text, label, act) {
  const node = make("button", { type: "button", textContent: text, title: label });
  if (label !== text) node.setAttribute("aria-label", label);
  node.addEventListener("click", act);
  return node;
}

/** Boxes to tick for the groups of rows; `changed` is told which are shown. */
function toggles(rows, changed) {
  const groups = [...new Set(rows.filter((row) => row.kind !== "lane").map((row) => row.group))], shown = new Set();
  let room = 8; // rows above the lanes, or these would stand far down
  for (const group of groups) {
    const count = rows.filter((row) => row.kind !== "lane" && row.group === group).length;
    if (shown.size && count > room) continue;
    shown.add(group);
    room -= count;
  }
  const boxes = groups.map((group) => {
    const box = make("input", { type: "checkbox", checked: shown.has(group) });
    box.addEventListener("change", () => {
      if (box.checked) shown.add(group);
      else shown.delete(group);
      changed(shown);
    });
    return make("label", {}, box, group);
  });
  const field = make("fieldset", { className: "toggles" }, make("legend", { textContent: "Rows above the lanes" }), ...boxes);
  field.hidden = !boxes.length;
  return { field, shown };
}

function keyDialog() {
  const body = make("tbody", {}, ...KEYS.map(([keys, what]) => {
    const marked = keys.split(/( {2}or {2}| and | )/).map((part) =>
      part.trim() && !["or", "and"].includes(part.trim()) ? make("kbd", { textContent: part }) : part);
    return make("tr", {}, make("th", { scope: "row" }, ...marked), make("td", { textContent: what }));
  }));
  const close = make("button", { type: "button", textContent: "Close" });
  const title = make("h3", { textContent: "Keys of the timeline" });
  const dialog = make("dialog", { className: "keys" }, title, make("table", {}, body), close);
  dialog.setAttribute("aria-label", "Keys of the timeline");
  close.addEventListener("click", () => dialog.close());
  return dialog;
}

/** A table of names with most time: `fill` gives it rows of [name id, operations, time], the most first. */
function topTable(names, colour, highlight) {
  const heads = ["Name", "Operations", "Time", "Share"].map((text, at) =>
    make("th", { textContent: text, scope: "col", className: at ? "n" : "t" }));
  const title = make("span"), body = make("tbody");
  const box = make("div", { className: "top scroll", tabIndex: 0 },
    make("table", {}, make("caption", {}, title), make("thead", {}, make("tr", {}, ...heads)), body));
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "Names with most time in view");
  let pressed = -1;
  function line([id, count, spent], sum) {
    const swatch = make("i");
    swatch.style.background = colour(id);
    const name = make("button", { type: "button", textContent: short(names[id]), title: names[id] });
    name.setAttribute("aria-pressed", pressed === id);
    name.addEventListener("click", () => {
      pressed = pressed === id ? -1 : id;
      for (const other of body.querySelectorAll("button")) other.setAttribute("aria-pressed", other === name && pressed === id);
      highlight(pressed);
    });
    const cells = [grouped(count), rounded(spent), `${((spent / sum || 0) * 100).toFixed(1)}\u202f%`];
    return make("tr", {}, make("td", {}, swatch, name), ...cells.map((text) => make("td", { className: "n", textContent: text })));
  }
  function fill(rows, sum, caption) {
    title.textContent = caption;
    body.replaceChildren(...rows.map((row) => line(row, sum)));
  }
  return { box, fill };
}

/** Names, operations and time of the lanes between two times; `about` where bins stand for operations. */
function inView(rows, left, right, perPixel, stretches) {
  const found = new Map();
  let operations = 0, sum = 0, about = false;
  const add = (id, count, spent) => {
    const entry = found.get(id) ?? found.set(id, [id, 0, 0]).get(id);
    entry[1] += count;
    entry[2] += spent;
    operations += count;
    sum += spent;
  };
  for (const row of rows) {
    for (const [from, to, level] of partsOf(row, left, right, perPixel, stretches)) {
      if (level) {
        about = true;
        eachBin(level, from, to, (at, begin, end) =>
          add(level.name[at] - 1, Math.round((level.count[at] * (end - begin)) / level.width), level.busy[at] * (end - begin)));
        continue;
      }
      for (let at = firstAfter(row, from); at < row.count && row.start[at] < to; at++) {
        add(row.name[at], 1, Math.min(row.end[at], to) - Math.max(row.start[at], from));
      }
    }
  }
  const most = [...found.values()].sort((a, b) => b[2] - a[2] || a[0] - b[0]).slice(0, 10);
  return { most, operations, sum, about, names: found.size };
}
