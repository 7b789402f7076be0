// The timeline: draws what is in view on a canvas, and answers pointer, touch and keyboard.
// Operations narrower than a pixel are added up per pixel column: its opacity is the share of time that is busy,
// its colour that of the names with most time there. So nothing is dropped at any zoom.

const AXIS = 20, LABEL = 15, PRESENCE = 2;

function setUpTimeline(figure) {
  const canvas = figure.querySelector("canvas"), context = canvas.getContext("2d");
  const tip = figure.querySelector(".tip"), status = figure.querySelector(".status");
  const [json, octets] = figure.querySelectorAll("script");
  const header = JSON.parse(json.textContent), names = header.names;
  let rows = [], slots = [], highlighted = -1, picked = null, lane = -1;
  let layout = { width: 0, height: 0, gutter: 0, scale: 1, boxes: [] };
  const whole = { left: 0, span: 1 }, view = { left: 0, span: 1 };

  function slotOf(row, at) {
    if (row.kind === "overlay") return NAMED + (at & 1);
    const id = row.name[at];
    return highlighted < 0 || highlighted === id ? slots[id] : NAMED + 1;
  }

  function measure() {
    const width = canvas.clientWidth, scale = window.devicePixelRatio || 1;
    const longest = Math.max(...rows.map((row) => row.label.length));
    const gutter = width >= 640 ? Math.min(longest * 6.5 + 14, width / 4) : 0;
    const thick = rows.length > 28 ? 12 : 20;
    let y = AXIS;
    const boxes = rows.map(() => {
      y += gutter ? 0 : LABEL;
      const box = { y, height: thick };
      y += thick + 5;
      return box;
    });
    layout = { width, height: y, gutter, scale, boxes };
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(y * scale);
    canvas.style.height = `${y}px`;
  }

  const pixels = () => Math.max(canvas.width - Math.round(layout.gutter * layout.scale), 1);
  const perPixel = () => view.span / pixels();

  function draw() {
    if (!layout.width || !rows.length) return;
    const style = getComputedStyle(figure), scale = layout.scale;
    const ink = style.getPropertyValue("--ink").trim(), muted = style.getPropertyValue("--muted").trim();
    const line = style.getPropertyValue("--line").trim(), soft = style.getPropertyValue("--soft").trim();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    rows.forEach((row, at) => drawStrip(row, layout.boxes[at], soft));
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = `11px ${style.fontFamily}`;
    context.textBaseline = "middle";
    drawAxis(muted, line);
    rows.forEach((row, at) => {
      const { y, height } = layout.boxes[at];
      context.fillStyle = at === lane ? ink : muted;
      if (layout.gutter) context.fillText(fitted(row.label, layout.gutter - 12), 0, y + height / 2);
      else context.fillText(fitted(row.label, layout.width), 4, y - LABEL / 2);
      for (const [index, a, b] of row.wide) {
        const from = layout.gutter + a / scale, room = (b - a) / scale - 8;
        const name = names[row.name[index]].replace(/^void /, "");
        context.fillStyle = row.kind === "overlay" ? ink : DARK_ON.includes(slotOf(row, index)) ? "#14181d" : "#fff";
        context.fillText(fitted(name, room), from + 4, y + (height - PRESENCE) / 2 + 0.5, room);
      }
    });
    if (picked) drawFrame(picked, ink);
    figure.dataset.view = `${view.left},${view.span}`;
  }

  function fitted(text, room) {
    const letter = context.measureText("abcdefghijklmnopqrstuvwxyz").width / 25;
    const most = Math.floor(room / letter);
    return text.length <= most ? text : most > 2 ? `${text.slice(0, most - 1)}…` : "";
  }

  function drawStrip(row, box, soft) {
    const width = pixels(), height = Math.round(box.height * layout.scale), scale = layout.scale;
    const x = Math.round(layout.gutter * scale), y = Math.round(box.y * scale);
    const { busy, slot, edge, wide } = columnsOf(row, view.left, perPixel(), width, slotOf, 44 * scale);
    row.wide = wide;
    const image = context.createImageData(width, height), words = new Uint32Array(image.data.buffer);
    const foot = height - Math.round(PRESENCE * scale);
    for (let at = 0; at < width; at++) {
      if (!busy[at]) continue;
      const colour = edge[at] ? DARKER[slot[at]] : WORDS[slot[at]];
      const faded = row.kind === "overlay" ? 0.55 : 1;
      words[at] = (Math.round(Math.min(busy[at], 1) * 255 * faded) << 24) | colour;
      words[foot * width + at] = (255 << 24) | WORDS[slot[at]]; // the foot shows what is too short to be seen
    }
    for (let at = 1; at < foot; at++) words.copyWithin(at * width, 0, width);
    for (let at = foot + 1; at < height; at++) words.copyWithin(at * width, foot * width, (foot + 1) * width);
    context.putImageData(image, x, y);
    context.globalCompositeOperation = "destination-over";
    context.fillStyle = soft;
    context.fillRect(x, y, width, height);
    context.globalCompositeOperation = "source-over";
  }

  function drawAxis(muted, line) {
    const width = layout.width - layout.gutter, step = niceStep((view.span / width) * 110);
    const [size, unit] = unitOf(Math.max(Math.abs(view.left), Math.abs(view.left + view.span)));
    const decimals = Math.max(Math.round(Math.log10(size)) - Math.floor(Math.log10(step) + 1e-9), 0);
    for (let time = Math.ceil(view.left / step) * step; time <= view.left + view.span; time += step) {
      const x = layout.gutter + ((time - view.left) / view.span) * width;
      context.fillStyle = line;
      context.fillRect(x, AXIS - 5, 1, layout.height - AXIS);
      const text = `${(time / size).toFixed(decimals)}\u202f${unit}`;
      const room = context.measureText(text).width;
      context.fillStyle = muted;
      if (x + room < layout.width) context.fillText(text, x, AXIS / 2 - 3);
    }
  }

  function drawFrame({ row, index }, ink) {
    const box = layout.boxes[rows.indexOf(row)], width = layout.width - layout.gutter;
    const a = layout.gutter + ((row.from[index] - view.left) / view.span) * width;
    const b = layout.gutter + ((row.to[index] - view.left) / view.span) * width;
    const from = Math.max(a, layout.gutter), to = Math.min(b, layout.width);
    if (to < layout.gutter || from > layout.width) return;
    context.strokeStyle = ink;
    context.lineWidth = 1.5;
    context.strokeRect(from - 1, box.y - 1, Math.max(to - from, 1) + 2, box.height + 2);
  }

  let asked = false, later = 0;
  function redraw() {
    if (!asked) requestAnimationFrame(() => ((asked = false), draw()));
    asked = true;
    clearTimeout(later);
    later = setTimeout(describe, 350);
  }

  function show(left, span) {
    view.span = Math.min(Math.max(span, NARROWEST_NS), whole.span);
    view.left = Math.min(Math.max(left, whole.left), whole.left + whole.span - view.span);
    redraw();
  }

  const pan = (share) => show(view.left + share * view.span, view.span);

  function zoom(factor, share = 0.5) {
    const span = Math.min(Math.max(view.span * factor, NARROWEST_NS), whole.span);
    show(view.left + share * (view.span - span), span);
  }

  /** The operation under a point: of those in the pixel the longest, else the nearest within three pixels. */
  function hit(x, y) {
    const at = layout.boxes.findIndex((box) => y >= box.y && y < box.y + box.height);
    if (at < 0 || x < layout.gutter) return null;
    const row = rows[at], pixel = perPixel();
    const begin = view.left + Math.floor((x - layout.gutter) * layout.scale) * pixel, end = begin + pixel;
    let best = -1, score = -3 * pixel, count = 0;
    for (let index = firstAfter(row, begin - 3 * pixel); index < row.count && row.from[index] < end + 3 * pixel; index++) {
      const overlap = Math.min(row.to[index], end) - Math.max(row.from[index], begin);
      if (overlap > 0) count++;
      if (overlap > score) [best, score] = [index, overlap];
    }
    return best < 0 ? null : { row, index: best, count };
  }

  const position = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function point(event) {
    const [x, y] = position(event), found = hit(x, y);
    tip.hidden = !found;
    if (!found) return;
    const { row, index, count } = found, start = row.start[index];
    const when = `${exact(row.end[index] - start)} from ${exact(start)} · ${row.label}`;
    tip.replaceChildren(make("b", { textContent: names[row.name[index]] }), make("span", { textContent: when }));
    if (count > 1) tip.append(make("div", { textContent: `the longest of ${grouped(count)} here: zoom in for the others` }));
    tip.style.left = `${Math.max(Math.min(x + 12, layout.width - tip.offsetWidth - 4), 0)}px`;
    tip.style.top = `${y + 18}px`;
  }

  const detail = make("div", { className: "picked", hidden: true });
  function pick(found) {
    picked = found;
    detail.hidden = !found;
    redraw();
    if (!found) return;
    const { row, index } = found;
    const base = BigInt(header.base), start = base + BigInt(row.start[index]), end = base + BigInt(row.end[index]);
    const length = grouped(row.end[index] - row.start[index]);
    const line = `${row.label}: starts at ${grouped(start)} ns, lasts ${length} ns`;
    detail.replaceChildren(make("b", { textContent: names[row.name[index]] }), make("div", { textContent: line }));
    if (!row.sql) return;
    const sql = `select *\nfrom (\n${row.sql}\n)\nwhere start_ns = ${start} and end_ns = ${end}`;
    const pre = make("pre", { tabIndex: 0 }, make("code", { textContent: sql }));
    detail.append(make("div", { className: "sql" }, pre, copyButton(() => sql)));
  }

  /** Moves from one operation to the next on the chosen lane, and into view. */
  function step(by) {
    if (lane < 0) lane = Math.max(rows.findIndex((row) => row.kind === "lane"), 0);
    const row = rows[lane], same = picked && picked.row === row;
    const index = same ? picked.index + by : firstAfter(row, view.left + view.span / 2);
    if (index < 0 || index >= row.count) return;
    pick({ row, index });
    const outside = row.end[index] < view.left || row.start[index] > view.left + view.span;
    if (outside) show(row.start[index] - view.span / 2, view.span);
  }

  function chooseLane(by) {
    lane = Math.min(Math.max(lane + by, 0), rows.length - 1);
    redraw();
  }

  const top = make("table"), body = make("tbody");
  function setUpTop() {
    const heads = ["Name", "Operations", "Time", "Share"].map((text, at) =>
      make("th", { textContent: text, scope: "col", className: at ? "n" : "t" }));
    const caption = make("caption", {}, make("span", { textContent: "Names with most time in view" }));
    top.append(caption, make("thead", {}, make("tr", {}, ...heads)), body);
    figure.querySelector(".status").after(detail, make("div", { className: "top scroll" }, top));
  }

  /** What is in view, in words and as a table: for those who do not see the canvas, and as its legend. */
  function describe() {
    const time = new Map(), right = view.left + view.span;
    let operations = 0, sum = 0;
    for (const row of rows) {
      if (row.kind !== "lane") continue;
      for (let at = firstAfter(row, view.left); at < row.count && row.start[at] < right; at++) {
        const spent = Math.min(row.end[at], right) - Math.max(row.start[at], view.left), id = row.name[at];
        const entry = time.get(id) ?? time.set(id, [0, 0]).get(id);
        entry[0] += spent;
        entry[1]++;
        sum += spent;
        operations++;
      }
    }
    const most = [...time].sort((a, b) => b[1][0] - a[1][0] || a[0] - b[0]).slice(0, 10);
    body.replaceChildren(...most.map(([id, [spent, count]]) => topRow(id, spent, count, sum)));
    status.textContent = `In view: ${rounded(view.span)} from ${exact(Math.round(view.left))}, `
      + `${counted(operations, "operation")} of ${counted(time.size, "name")}`;
  }

  function topRow(id, spent, count, sum) {
    const swatch = make("i");
    swatch.style.background = COLOURS[slots[id]];
    const button = make("button", { type: "button", textContent: short(names[id]), title: names[id] });
    button.setAttribute("aria-pressed", highlighted === id);
    button.addEventListener("click", () => {
      highlighted = highlighted === id ? -1 : id;
      body.querySelectorAll("button").forEach((other) => other.setAttribute("aria-pressed", other === button && highlighted === id));
      draw();
    });
    const cells = [grouped(count), rounded(spent), `${((spent / sum || 0) * 100).toFixed(1)}\u202f%`];
    return make("tr", {}, make("td", {}, swatch, button),
      ...cells.map((text) => make("td", { className: "n", textContent: text })));
  }

  const keys = {
    a: () => pan(-0.15), ArrowLeft: () => pan(-0.15), d: () => pan(0.15), ArrowRight: () => pan(0.15),
    w: () => zoom(0.7), "+": () => zoom(0.7), "=": () => zoom(0.7), s: () => zoom(1 / 0.7), "-": () => zoom(1 / 0.7),
    0: () => show(whole.left, whole.span), Home: () => show(whole.left, whole.span),
    ",": () => step(-1), ".": () => step(1), ArrowUp: () => chooseLane(-1), ArrowDown: () => chooseLane(1),
    Escape: () => ((tip.hidden = true), pick(null)),
  };

  function setUpInput() {
    const pointers = new Map();
    let moved = 0;
    canvas.addEventListener("keydown", (event) => {
      const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    canvas.addEventListener("wheel", (event) => {
      const [x] = position(event), sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (event.ctrlKey || event.metaKey) {
        zoom(Math.exp(Math.min(Math.max(event.deltaY, -120), 120) / 200), shareAt(x));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        pan(sideways / (layout.width - layout.gutter));
      } else return;
      event.preventDefault();
      tip.hidden = true;
    }, { passive: false });
    const shareAt = (x) => Math.min(Math.max((x - layout.gutter) / (layout.width - layout.gutter), 0), 1);
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, position(event)[0]);
      moved = pointers.size > 1 ? 99 : 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!pointers.has(event.pointerId)) return point(event);
      const before = [...pointers.values()];
      pointers.set(event.pointerId, position(event)[0]);
      const after = [...pointers.values()];
      moved += Math.abs(after[0] - before[0]);
      if (after.length > 1) {
        const apart = (xs) => Math.max(Math.abs(xs[0] - xs[1]), 8);
        zoom(apart(before) / apart(after), shareAt((after[0] + after[1]) / 2));
      }
      const middle = (xs) => xs.reduce((sum, x) => sum + x, 0) / xs.length;
      if (moved > 3) pan((middle(before) - middle(after)) / (layout.width - layout.gutter));
      canvas.classList.toggle("drag", moved > 3);
      tip.hidden = true;
    });
    canvas.addEventListener("pointerup", (event) => {
      if (pointers.delete(event.pointerId) && moved <= 3) {
        point(event);
        const found = hit(...position(event));
        if (found) lane = rows.indexOf(found.row);
        pick(found);
      }
      canvas.classList.remove("drag");
    });
    canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  }

  function setUpControls() {
    const button = (text, label, act) => {
      const node = make("button", { type: "button", textContent: text, title: label });
      node.setAttribute("aria-label", label);
      node.addEventListener("click", act);
      return node;
    };
    const controls = make("div", { className: "controls" },
      button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
      button("←", "Earlier", () => pan(-0.3)), button("→", "Later", () => pan(0.3)),
      button("All", "Show all", keys.Home));
    figure.querySelector(".view").before(controls);
    const help = matchMedia("(pointer: coarse)").matches
      ? "Drag to move, pinch to zoom, tap an operation for its details and its query."
      : "Drag or [←] [→] to move, [Ctrl] wheel or [+] [−] to zoom, [0] for everything. Click an operation, or step"
        + " with [,] and [.] from one to the next, for its details and its query; [↑] [↓] change the lane.";
    const parts = help.split(/[[\]]/).map((text, at) => (at % 2 ? make("kbd", { textContent: text }) : text));
    figure.querySelector(".help").replaceChildren(...parts);
  }

  async function start() {
    rows = await unpack(header, octets.textContent);
    const totals = new Float64Array(names.length);
    for (const row of rows) {
      if (row.kind === "lane") for (let at = 0; at < row.count; at++) totals[row.name[at]] += row.end[at] - row.start[at];
    }
    const order = [...totals.keys()].sort((a, b) => totals[b] - totals[a] || a - b);
    slots = new Uint8Array(names.length);
    order.forEach((id, rank) => (slots[id] = rank < NAMED ? rank : NAMED + (rank & 1)));
    const filled = rows.filter((row) => row.count);
    whole.left = filled.length ? Math.min(...filled.map((row) => row.from[0])) : 0;
    whole.span = Math.max(...filled.map((row) => row.to[row.count - 1]), whole.left + NARROWEST_NS) - whole.left;
    setUpTop();
    setUpControls();
    setUpInput();
    Object.assign(view, whole);
    new ResizeObserver(() => (measure(), draw())).observe(canvas.parentNode);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    measure();
    draw();
    describe();
    figure.timeline = { view, rows, show, draw, layout: () => layout };
    figure.dataset.ready = Math.round(performance.now());
  }

  if ("DecompressionStream" in window) return start();
  figure.querySelector(".view").hidden = true;
  status.textContent = "This browser cannot unpack the timeline; it needs Chrome 103, Firefox 113, Safari 16.4 or later."
    + " The query below gives its operations.";
  return null;
}

document.querySelectorAll("figure.timeline").forEach(setUpTimeline);
