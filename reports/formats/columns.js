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
  let place = 0;
  function column(count, width) {
    const values = new Uint32Array(count);
    for (let byte = 0; byte < width; byte++) {
      for (let at = 0; at < count; at++) values[at] |= data[place + at] << (8 * byte);
      place += count;
    }
    return values;
  }
  return header.rows.map((row) => {
    const steps = column(row.count, 4), spans = column(row.count, 4), name = column(row.count, header.wide ? 4 : 2);
    const start = new Float64Array(row.count), end = new Float64Array(row.count);
    let far = 0, time = row.first;
    for (let at = 0; at < row.count; at++) start[at] = time += steps[at] === FAR ? row.far[far++] : steps[at];
    for (let at = 0; at < row.count; at++) end[at] = start[at] + (spans[at] === FAR ? row.far[far++] : spans[at]);
    return { ...row, start, end, name, ...covered(start, end) };
  });
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

/** Per pixel column the busy share and the slot with most time; and the operations wide enough for a label. */
function columnsOf(row, left, perPixel, width, slotOf, labelled) {
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
  function add(pixel, which, part) {
    if (pixel !== open) {
      close();
      open = pixel;
    }
    busy[pixel] += part;
    time[which] += part;
  }
  const right = left + width * perPixel;
  for (let at = firstAfter(row, left); at < row.count && row.from[at] < right; at++) {
    const a = Math.max((row.from[at] - left) / perPixel, 0), b = Math.min((row.to[at] - left) / perPixel, width);
    const which = slotOf(row, at);
    for (let pixel = Math.floor(a); pixel < b; pixel++) {
      add(pixel, which, Math.min(b, pixel + 1) - Math.max(a, pixel));
    }
    if (b - a >= 4) edge[Math.ceil(a)] = 1;
    if (b - a >= labelled) wide.push([at, a, b]);
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
