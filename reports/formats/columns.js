// The timeline's data: unpacks the columns that reports/timeline.py packed, and adds them up for the pixels of a row.

const FAR = 0xffffffff;
const COLOURS = ["#1b7fc1", "#e69f00", "#009e73", "#56b4e9", "#d55e00", "#cc79a7", "#8c6bb1", "#8a919b", "#a4abb5"];
const DARK_ON = [1, 3, 7, 8]; // these carry dark letters
const NAMED = 7; // the names with most time get a colour of their own, the others one of two greys
const NARROWEST_NS = 20;
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

const unitOf = (ns) => UNITS.find(([size]) => ns >= size) ?? UNITS[3];
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const counted = (number, what) => `${grouped(number)} ${what}${number === 1 ? "" : "s"}`;

/** A time to all its digits, in the unit that reads best: 1 234 567 is "1.234567 ms". */
function exact(ns) {
  const [size, unit] = unitOf(Math.abs(ns));
  const text = size === 1 ? String(ns) : (ns / size).toFixed(Math.log10(size)).replace(/\.?0+$/, "");
  return `${text}\u202f${unit}`;
}

/** A time to three digits. */
function rounded(ns) {
  const [size, unit] = unitOf(Math.abs(ns));
  const value = ns / size;
  return `${value.toFixed(value >= 100 || size === 1 ? 0 : value >= 10 ? 1 : 2)}\u202f${unit}`;
}

/** A distance of at least so many nanoseconds that is 1, 2 or 5 times a power of ten. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].find((digit) => digit * power >= least * 0.999) * power;
}

/** A long name without its middle, where names differ least. */
const short = (text) => (text.length > 80 ? `${text.slice(0, 40)}…${text.slice(-39)}` : text);

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

async function unpack(header, base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const data = new Uint8Array(await new Response(stream).arrayBuffer());
  let place = header.letters;
  function column(count, Type) {
    const width = Type.BYTES_PER_ELEMENT, bytes = new Uint8Array(count * width);
    for (let byte = 0; byte < width; byte++) {
      for (let at = 0; at < count; at++) bytes[at * width + byte] = data[place + at];
      place += count;
    }
    return new Type(bytes.buffer);
  }
  const names = JSON.parse(new TextDecoder().decode(data.subarray(0, place)));
  const rows = header.rows.map((row) => (row.kind === "curve" ? curve(row, column) : operations(row, header, column)));
  return { names, rows };
}

function operations(row, header, column) {
  const gaps = column(row.count, Uint32Array), spans = column(row.count, Uint32Array);
  const Name = header.wide ? Uint32Array : Uint16Array, name = column(row.count, Name), far = row.far.values();
  const start = Float64Array.from(gaps, (zigzag) =>
    zigzag === FAR ? far.next().value : zigzag & 1 ? -(zigzag >>> 1) - 1 : zigzag >>> 1);
  const end = new Float64Array(row.count);
  let latest = row.first;
  for (let at = 0; at < row.count; at++) {
    start[at] += latest;
    end[at] = start[at] + (spans[at] === FAR ? far.next().value : spans[at]);
    latest = Math.max(latest, end[at]);
  }
  return { ...row, start, end, name, ...covered(start, end), levels: row.levels && levels(row, header, column, Name) };
}

/** What a lane does in equal parts of the time, finest first: busy share, operations that start, name with most time. */
function levels(row, { bins }, column, Name) {
  let busy = Float64Array.from(column(row.levels[0], Uint8Array), (part) => part / bins.full);
  let count = column(row.levels[0], Uint32Array);
  const merged = (values, size, share) => {
    const sums = new Float64Array(size);
    for (let at = 0; at < values.length; at++) sums[Math.floor(at / bins.factor)] += values[at] * share;
    return sums;
  };
  return row.levels.map((size, at) => {
    if (at) [busy, count] = [merged(busy, size, 1 / bins.factor), merged(count, size, 1)];
    return { first: bins.first, width: bins.width * bins.factor ** at, busy, count, name: column(size, Name) };
  });
}

function curve(row, column) {
  const start = Float64Array.from(column(row.count, Uint32Array)), far = row.far.values();
  let time = row.first;
  for (let at = 0; at < row.count; at++) start[at] = time += start[at] === FAR ? far.next().value : start[at];
  return { ...row, start, end: start, from: start, to: start, value: column(row.count, Float64Array) };
}

/** Each operation cut to the time no earlier one covers: disjoint and sorted, so that overlaps count once. */
function covered(start, end) {
  let last = -Infinity, overlaps = false;
  for (let at = 0; at < start.length && !overlaps; at++) {
    overlaps = start[at] < last;
    last = end[at];
  }
  if (!overlaps) return { from: start, to: end };
  const from = new Float64Array(start.length), to = new Float64Array(start.length);
  last = -Infinity;
  for (let at = 0; at < start.length; at++) {
    from[at] = Math.max(start[at], last);
    to[at] = last = Math.max(end[at], last);
  }
  return { from, to };
}

/** The first operation of a row that ends after a time. */
function firstAfter(row, time) {
  let low = 0, high = row.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.to[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The coarsest level whose bins are no wider than a pixel, else the finest. */
const levelFor = (row, perPixel) => row.levels.findLast((level) => level.width <= perPixel) ?? row.levels[0];

/** Cuts the time in view into parts [from, to, level]: without a level the operations are there one by one. */
function partsOf(row, left, right, perPixel, stretches) {
  if (!row.levels) return [[left, right, null]];
  const level = levelFor(row, perPixel), parts = [];
  if (level.width <= perPixel) return [[left, right, level]];
  let from = left;
  for (const [begin, end] of stretches) {
    if (end <= left || begin >= right) continue;
    if (begin > from) parts.push([from, begin, level]);
    parts.push([Math.max(begin, left), Math.min(end, right), null]);
    from = end;
  }
  if (from < right) parts.push([from, right, level]);
  return parts;
}

/** Calls back for each bin of a level in a part of the time that holds an operation: index, begin and end there. */
function eachBin(level, from, to, visit) {
  const { first, width, name } = level;
  for (let at = Math.max(Math.floor((from - first) / width), 0); at < name.length && first + at * width < to; at++) {
    if (name[at]) visit(at, Math.max(first + at * width, from), Math.min(first + (at + 1) * width, to));
  }
}

/** Per pixel column the busy share and the slot with most time; and the operations wide enough for a label. */
function columnsOf(row, left, perPixel, width, slotOf, labelled, stretches) {
  const busy = new Float64Array(width), slot = new Uint8Array(width), edge = new Uint8Array(width), wide = [];
  const time = new Float64Array(COLOURS.length);
  let open = -1;
  function close() {
    if (open < 0) return;
    let best = 0;
    for (let at = 0; at < time.length; at++) if (time[at] > time[best]) best = at;
    slot[open] = best;
    time.fill(0);
  }
  /** Something from a to b (in pixels) that is busy for a share of it; what takes no time is there all the same. */
  function add(which, a, b, share) {
    for (let pixel = Math.floor(a), first = pixel; pixel < b || pixel === first; pixel++) {
      if (pixel !== open) {
        close();
        open = pixel;
      }
      const part = Math.max((Math.min(b, pixel + 1) - Math.max(a, pixel)) * share, 1e-9);
      busy[pixel] += part;
      time[which] += part;
    }
  }
  const right = left + width * perPixel, pixelOf = (at) => Math.min(Math.max((at - left) / perPixel, 0), width);
  for (const [from, to, level] of partsOf(row, left, right, perPixel, stretches)) {
    if (level) {
      eachBin(level, from, to, (at, begin, end) =>
        add(slotOf(row, level.name[at] - 1, at), pixelOf(begin), pixelOf(end), level.busy[at]));
      continue;
    }
    for (let at = firstAfter(row, from); at < row.count && row.from[at] < to; at++) {
      const a = pixelOf(Math.max(row.from[at], from)), b = pixelOf(Math.min(row.to[at], to));
      add(slotOf(row, row.name[at], at), a, b, 1);
      if (b - a >= 4) edge[Math.ceil(a)] = 1;
      if (b - a >= labelled) wide.push([at, a, b]);
    }
  }
  close();
  return { busy, slot, edge, wide };
}

/** A colour as the pixel word of a little-endian canvas, without its opacity. */
function wordOf(colour, light = 1) {
  const part = (at) => Math.round(parseInt(colour.slice(at, at + 2), 16) * light);
  return (part(5) << 16) | (part(3) << 8) | part(1);
}
const WORDS = COLOURS.map((colour) => wordOf(colour)), DARKER = COLOURS.map((colour) => wordOf(colour, 0.72));
