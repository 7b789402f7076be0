// The timeline: draws what is in view on a canvas, and answers pointer, touch and keyboard.
// Operations narrower than a pixel are added up per pixel column: its opacity is the share of time that is busy,
// its colour that of the names with most time there. So nothing is dropped at any zoom.

const AXIS = 20, LABEL = 15, PRESENCE = 2;

function setUpTimeline(figure) {
  const canvas = figure.querySelector("canvas"), context = canvas.getContext("2d");
  const tip = figure.querySelector(".tip"), status = figure.querySelector(".status"), said = figure.querySelector(".said");
  const [json, octets] = figure.querySelectorAll("script");
  const header = JSON.parse(json.textContent), base = BigInt(header.base), stretches = header.stretches;
  let names = [], all = [], rows = [], slots = [], highlighted = -1, picked = null, lane = -1;
  let layout = { width: 0, height: 0, gutter: 0, scale: 1, boxes: [] };
  const whole = { left: 0, span: 1 }, view = { left: 0, span: 1 };

  function slotOf(row, id, at) {
    if (row.kind === "overlay") return NAMED + (at & 1);
    return highlighted < 0 || highlighted === id ? slots[id] : NAMED + 1;
  }

  function measure() {
    const width = canvas.clientWidth, scale = window.devicePixelRatio || 1;
    const longest = Math.max(...rows.map((row) => row.title.length));
    const gutter = width >= 640 ? Math.min(longest * 6.5 + 14, width / 4) : 0;
    const thick = rows.length > 28 ? 12 : 20;
    let y = AXIS;
    const boxes = rows.map((row) => {
      y += gutter ? 0 : LABEL;
      const box = { y, height: row.kind === "curve" ? 32 : thick };
      y += box.height + 5;
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
    const accent = style.getPropertyValue("--accent").trim();
    rows.forEach((row, at) => (row.kind === "curve" ? drawCurve : drawStrip)(row, layout.boxes[at], soft, accent));
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = `11px ${style.fontFamily}`;
    context.textBaseline = "middle";
    drawAxis(muted, line);
    rows.forEach((row, at) => {
      const { y, height } = layout.boxes[at];
      context.fillStyle = at === lane ? ink : muted;
      if (layout.gutter) context.fillText(fitted(row.title, layout.gutter - 12), 0, y + height / 2);
      else context.fillText(fitted(row.title, layout.width), 4, y - LABEL / 2);
      for (const [index, a, b] of row.wide ?? []) {
        const from = layout.gutter + a / scale, room = (b - a) / scale - 8;
        const name = names[row.name[index]].replace(/^void /, "");
        context.fillStyle = row.kind === "overlay" ? ink : DARK_ON.includes(slotOf(row, row.name[index], index)) ? "#14181d" : "#fff";
        context.fillText(fitted(name, room), from + 4, y + (height - PRESENCE) / 2 + 0.5, room);
      }
    });
    rows.forEach((row, at) => row.levels && drawStretches(layout.boxes[at].y - 3, accent));
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
    const { busy, slot, edge, wide } = columnsOf(row, view.left, perPixel(), width, slotOf, 44 * scale, stretches);
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

  /** The samples as steps from the least value at the foot to the most at the top. */
  function drawCurve(row, box, soft, accent) {
    const { scale, gutter } = layout, range = row.most - row.least || 1, right = view.left + view.span;
    const xOf = (time) => Math.min(Math.max(gutter * scale + (time - view.left) / perPixel(), gutter * scale), canvas.width);
    const yOf = (at) => (box.y + 2 + (box.height - 4) * (1 - (row.value[at] - row.least) / range)) * scale;
    context.fillStyle = soft;
    context.fillRect(Math.round(gutter * scale), Math.round(box.y * scale), pixels(), Math.round(box.height * scale));
    context.beginPath();
    for (let at = Math.max(firstAfter(row, view.left) - 1, 0); at < row.count && row.start[at] <= right; at++) {
      const until = at + 1 < row.count ? row.start[at + 1] : row.start[at];
      context.lineTo(xOf(row.start[at]), yOf(at));
      context.lineTo(xOf(until), yOf(at));
    }
    context.strokeStyle = accent;
    context.lineWidth = 1.5 * scale;
    context.stroke();
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

  /** A line above a lane wherever the page holds its operations one by one. */
  function drawStretches(y, accent) {
    const width = layout.width - layout.gutter, xOf = (time) => Math.min(Math.max((time - view.left) / view.span, 0), 1) * width;
    context.fillStyle = accent;
    for (const [from, to] of stretches) {
      if (to > view.left && from < view.left + view.span) context.fillRect(layout.gutter + xOf(from), y, Math.max(xOf(to) - xOf(from), 2), 2);
    }
  }

  function drawFrame({ row, index, level, bin }, ink) {
    const box = layout.boxes[rows.indexOf(row)], width = layout.width - layout.gutter;
    const begin = level ? level.first + bin * level.width : row.from[index], end = level ? begin + level.width : row.to[index];
    const a = layout.gutter + ((begin - view.left) / view.span) * width;
    const b = layout.gutter + ((end - view.left) / view.span) * width;
    const from = Math.max(a, layout.gutter), to = Math.min(b, layout.width);
    if (!box || to < layout.gutter || from > layout.width) return;
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

  /** What is under a point: of the operations in the pixel the longest, else the nearest within three pixels, or a bin. */
  function hit(x, y) {
    const at = layout.boxes.findIndex((box) => y >= box.y && y < box.y + box.height);
    if (at < 0 || x < layout.gutter) return null;
    const row = rows[at], pixel = perPixel();
    const begin = view.left + Math.floor((x - layout.gutter) * layout.scale) * pixel, end = begin + pixel;
    const inFull = stretches.some(([from, to]) => begin >= from && begin < to);
    if (row.levels && !inFull) return hitBin(row, begin + pixel / 2);
    let best = -1, score = -3 * pixel, count = 0;
    for (let index = firstAfter(row, begin - 3 * pixel); index < row.count && row.from[index] < end + 3 * pixel; index++) {
      const overlap = Math.min(row.to[index], end) - Math.max(row.from[index], begin);
      if (overlap > 0 || (overlap === 0 && row.from[index] === row.to[index])) count++;
      if (overlap > score) [best, score] = [index, overlap];
    }
    if (row.kind === "curve") best = Math.min(firstAfter(row, end), row.count) - 1;
    return best < 0 ? null : { row, index: best, count };
  }

  function hitBin(row, time) {
    const level = levelFor(row, perPixel()), bin = Math.floor((time - level.first) / level.width);
    return level.name[bin] ? { row, level, bin } : null;
  }

  const position = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function point(event) {
    const [x, y] = position(event), found = hit(x, y);
    tip.hidden = !found;
    if (!found) return;
    const [name, ...lines] = found.level ? binWords(found, names) : operationWords(found, names);
    tip.replaceChildren(make("b", { textContent: name }), make("span", { textContent: lines[0] }));
    tip.append(...lines.slice(1).map((line) => make("div", { textContent: line })));
    tip.style.left = `${Math.max(Math.min(x + 12, layout.width - tip.offsetWidth - 4), 0)}px`;
    tip.style.top = `${y + 18}px`;
  }

  const detail = make("div", { className: "picked", hidden: true });
  function pick(found) {
    picked = found && found.row.kind !== "curve" ? found : null;
    detail.hidden = !picked;
    redraw();
    said.textContent = "";
    if (!picked) return;
    const { row, index, level, bin } = picked;
    if (level) return pickBin(row, level.first + bin * level.width, level.width, binWords(picked, names));
    const length = grouped(row.end[index] - row.start[index]), name = names[row.name[index]];
    const line = `${row.label}: starts at ${grouped(base + BigInt(row.start[index]))} ns, lasts ${length} ns`;
    detail.replaceChildren(make("b", { textContent: name }), make("div", { textContent: line }));
    if (row.sql) detail.append(queryBox(queryOf(row, index, base)));
    said.textContent = `${name}, ${row.label}, starts at ${exact(row.start[index])}, lasts ${exact(row.end[index] - row.start[index])}`;
  }

  function pickBin(row, from, width, words) {
    detail.replaceChildren(make("b", { textContent: words[0] }), ...words.slice(1).map((textContent) => make("div", { textContent })),
      make("div", { textContent: "This query gives the operations:" }), queryBox(queryBetween(row, from, from + width, base)));
    said.textContent = words.join(", ");
  }

  /** Moves from one operation to the next on the chosen lane, and into view. */
  function step(by) {
    if (lane < 0 || rows[lane].kind === "curve") lane = Math.max(rows.findIndex((row) => row.kind === "lane"), 0);
    const row = rows[lane], same = picked && picked.row === row && !picked.level;
    const index = same ? picked.index + by : firstAfter(row, view.left + view.span / 2);
    if (!row || index < 0 || index >= row.count) return;
    pick({ row, index });
    const outside = row.end[index] < view.left || row.start[index] > view.left + view.span;
    if (outside) show(row.start[index] - view.span / 2, view.span);
  }

  /** Shows the next or the previous iteration: from the chosen one on, else from the middle of the view. */
  function stepIteration(by) {
    const row = all.find((one) => one.group === "iterations" && one.count);
    if (!row) return;
    const after = firstAfter(row, view.span < whole.span ? view.left + view.span / 2 : whole.left);
    const index = picked?.row === row ? picked.index + by : by > 0 ? after : after - 1;
    if (index < 0 || index >= row.count) return;
    pick({ row, index });
    frame(row.start[index], row.end[index]);
  }

  const frame = (from, to) => show(from - (to - from) * 0.03, (to - from) * 1.06);

  function chooseLane(by) {
    lane = Math.min(Math.max(lane + by, 0), rows.length - 1);
    if (rows[lane]) said.textContent = rows[lane].title;
    redraw();
  }

  /** What is in view, in words and as a table: for those who do not see the canvas, and as its legend. */
  function describe() {
    const lanes = all.filter((row) => row.kind === "lane"), everything = view.span >= whole.span;
    const found = everything
      ? { most: header.totals, operations: header.operations, sum: header.spent, names: header.used }
      : inView(lanes, view.left, view.left + view.span, perPixel(), stretches);
    const caption = "Names with most time in view";
    top.fill(found.most, found.sum, found.about ? `${caption}, about: each bin's time is counted to its first name` : caption);
    status.textContent = `In view: ${rounded(view.span)} from ${exact(Math.round(view.left))}, `
      + `${found.about ? "about " : ""}${counted(found.operations, "operation")} of ${counted(found.names, "name")}`;
  }

  const keys = {
    a: () => pan(-0.15), ArrowLeft: () => pan(-0.15), d: () => pan(0.15), ArrowRight: () => pan(0.15),
    w: () => zoom(0.7), "+": () => zoom(0.7), "=": () => zoom(0.7), s: () => zoom(1 / 0.7), "-": () => zoom(1 / 0.7),
    0: () => show(whole.left, whole.span), Home: () => show(whole.left, whole.span),
    ",": () => step(-1), ".": () => step(1), ArrowUp: () => chooseLane(-1), ArrowDown: () => chooseLane(1),
    n: () => stepIteration(1), p: () => stepIteration(-1), "?": () => dialog.showModal(),
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

  const dialog = keyDialog();
  let top = null;
  function setUpControls() {
    const { field, shown } = toggles(all, choose);
    choose(shown);
    const controls = make("div", { className: "controls" },
      button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
      button("←", "Earlier", () => pan(-0.3)), button("→", "Later", () => pan(0.3)),
      button("All", "Show all", keys.Home), button("Keys", "Keys", () => dialog.showModal()),
      make("span", { textContent: header.wanted.length ? "Go to" : "" }), ...header.wanted.map(([from, to, label]) => button(label, label, () => frame(from, to))));
    figure.querySelector(".view").before(controls, field);
    top = topTable(names, (id) => COLOURS[slots[id]], (id) => ((highlighted = id), draw()));
    status.after(detail, top.box, dialog);
    const help = matchMedia("(pointer: coarse)").matches
      ? "Drag to move, pinch to zoom, tap an operation for its details and its query."
      : "Drag or [←] [→] to move, [Ctrl] wheel or [+] [−] to zoom, [0] for everything. Click an operation, or step"
        + " with [,] and [.] from one to the next, for its details and its query; [?] lists all keys.";
    const parts = help.split(/[[\]]/).map((text, at) => (at % 2 ? make("kbd", { textContent: text }) : text));
    figure.querySelector(".help").replaceChildren(...parts);
  }

  /** Shows the rows of those groups, and the lanes. */
  function choose(groups) {
    rows = all.filter((row) => row.kind === "lane" || groups.has(row.group));
    lane = -1;
    measure();
    redraw();
  }

  async function start() {
    ({ names, rows: all } = await unpack(header, octets.textContent));
    for (const row of all) row.title = labelOf(row);
    slots = Uint8Array.from(names, (_, id) => NAMED + (id & 1));
    header.totals.slice(0, NAMED).forEach(([id], rank) => (slots[id] = rank));
    const filled = all.filter((row) => row.count);
    whole.left = filled.length ? Math.min(...filled.map((row) => row.from[0])) : 0;
    whole.span = Math.max(...filled.map((row) => row.to[row.count - 1]), header.last, whole.left + NARROWEST_NS) - whole.left;
    Object.assign(view, whole);
    setUpControls();
    setUpInput();
    new ResizeObserver(() => (measure(), draw())).observe(canvas.parentNode);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    draw();
    describe();
    figure.timeline = { view, rows: all, show, draw, layout: () => layout };
    figure.dataset.ready = Math.round(performance.now());
  }

  if ("DecompressionStream" in window) return start();
  figure.classList.add("no-canvas");
  status.textContent = "This browser cannot unpack the timeline; it needs Chrome 103, Firefox 113, Safari 16.4 or later."
    + " The query below gives its operations.";
  return null;
}

document.querySelectorAll("figure.timeline").forEach(setUpTimeline);
