// Read a privgmm release without privgmm: Node alone.  node privgmm_reader.mjs RELEASE.json ROWS [SEED] > rows.csv
// Copy this file wherever you need it. load() checks the digest of the file, draw() makes rows of its model: through the
// shapes of single columns (margins) where it has them, else of its Gaussians, as stated of its columns.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

// The release as an object; a file that was changed after it was written is refused.
export function load(path) {
  const release = JSON.parse(readFileSync(path, "utf8"));
  if (release.format !== "privgmm-release" || !(release.version >= 3)) {
    throw new Error(`${path} is no privgmm release of version 3 or later`);
  }
  const { sha256, ...body } = release;
  if (createHash("sha256").update(canonical(body), "utf8").digest("hex") !== sha256) {
    throw new Error(`${path} was changed or damaged after it was written`);
  }
  return release;
}

// The text of RFC 8785: JSON.stringify with names in the order of their UTF-16 code units, which sort() has.
export function canonical(value) {
  if (Array.isArray(value)) return "[" + value.map(canonical).join(",") + "]";
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort().map((name) => JSON.stringify(name) + ":" + canonical(value[name]));
  return "{" + members.join(",") + "}";
}

// {X, classes}: synthetic rows in the columns release.features, and the class of each. A category is the position of its
// level; null is a missing cell.
export function draw(release, rows, random = Math.random) {
  const { margins } = release;
  const names = release.mixture.classes;
  const whole = { ...release.mixture, owners: names.map((_, k) => k) };
  const part = margins ? whole : release.components ?? whole;
  const factors = (margins?.correlations ?? part.covariances).map(cholesky);
  const X = [];
  const classes = [];
  for (let n = 0; n < rows; n++) {
    const c = pick(part.weights, random());
    const z = factors[c].map(() => normal(random));
    const row = factors[c].map((factor, i) => {
      let x = margins ? 0 : part.means[c][i];
      for (let j = 0; j <= i; j++) x += factor[j] * z[j];
      return margins ? between(margins.scores, margins.quantiles[c][i], x) : x;
    });
    X.push(cells(release, release.preprocessing.reduceRight(undo, row)));
    classes.push(names[part.owners[c]]);
  }
  return { X, classes };
}

// The line through the points (at, values), which rises in at; flat beyond its ends.
function between(at, values, x) {
  let low = 0;
  let high = at.length - 1;
  if (x <= at[low]) return values[low];
  if (x >= at[high]) return values[high];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (at[middle] <= x) low = middle;
    else high = middle;
  }
  return values[low] + ((x - at[low]) / (at[high] - at[low])) * (values[high] - values[low]);
}

// A row of the model as cells of the stated columns: whole, rounded, inside their ranges; levels; missing cells.
function cells(release, row) {
  const own = release.encoding?.levels;
  const widths = release.columns.map((c, j) => (c.type === "category" ? own[j].length : 1 + (c.missing ? 1 : 0)));
  let at = 0;
  // Behind the numbers of all columns stand the choices among levels without a number of their own.
  let choice = widths.reduce((sum, w) => sum + w, 0);
  return release.columns.map((column, j) => {
    const x = row.slice(at, (at += widths[j]));
    if (column.type !== "category") return column.missing && x[1] > 0.5 ? null : obeyed(column, x[0]);
    const all = [...column.levels.keys(), ...(column.missing ? [column.levels.length] : [])];
    const rest = all.filter((level) => !own[j].includes(level));
    let level = rest[0];
    if (rest.length > 1) level = rest[Math.min(Math.max(Math.round(row[choice++]), 0), rest.length - 1)];
    const on = x.findIndex((value) => value > 0.5);
    if (on >= 0) level = own[j][on];
    return level === column.levels.length ? null : level;
  });
}

// A number as stated of its column.
function obeyed(column, x) {
  let [lo, hi] = [column.lo ?? -Infinity, column.hi ?? Infinity];
  if (column.type === "integer" || column.decimals !== undefined) {
    const unit = 10 ** (column.decimals ?? 0);
    x = Math.round(x * unit) / unit;
    const ends = [Math.ceil(lo * unit - 1e-9) / unit, Math.floor(hi * unit + 1e-9) / unit];
    if (ends[0] <= ends[1]) [lo, hi] = ends;
  }
  return Math.min(Math.max(x, lo), hi);
}

function undo(row, step) {
  if (step.kind === "log") return row.map((x) => Math.exp(x) - (step.offset ?? 0));
  if (step.kind === "standardise") return row.map((x, j) => x * step.scale[j] + step.mean[j]);
  if (step.kind === "pca") {
    return step.mean.map((mean, j) => row.reduce((sum, z, i) => sum + z * step.components[i][j], mean));
  }
  throw new Error(`a step of kind '${step.kind}' is not known to this reader`);
}

function cholesky(S) {
  const L = S.map((row) => row.map(() => 0));
  for (let i = 0; i < S.length; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = S[i][j];
      for (let k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
      L[i][j] = i === j ? Math.sqrt(sum) : sum / L[j][j];
    }
  }
  return L;
}

function pick(weights, lot) {
  let left = lot * weights.reduce((sum, w) => sum + w, 0);
  let last = 0;
  for (let c = 0; c < weights.length; c++) {
    if (weights[c] > 0) last = c;
    left -= weights[c];
    if (left < 0) return last;
  }
  return last;
}

// Box and Muller.
function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

// SplitMix64, so that a seed gives the same rows again.
function seeded(seed) {
  let state = BigInt(seed);
  return () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let z = state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
  };
}

function cell(value) {
  const text = String(value);
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function main(path, rows, seed) {
  const release = load(path);
  const { X, classes } = draw(release, Number(rows), seed === undefined ? Math.random : seeded(seed));
  const shown = (row, n) => (name) => {
    if (name === release.label) return classes[n];
    const j = release.features.indexOf(name);
    if (row[j] === null) return "";
    return release.columns[j].type === "category" ? release.columns[j].levels[row[j]] : row[j];
  };
  const lines = [release.order, ...X.map((row, n) => release.order.map(shown(row, n)))];
  process.stdout.write(lines.map((line) => line.map(cell).join(",") + "\n").join(""));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    main(...process.argv.slice(2));
  } catch (problem) {
    console.error(problem.message);
    process.exitCode = 1;
  }
}
