"use strict";
// The records as they are embedded in the page, and what is derived from them once.
const RECORDS = JSON.parse(document.getElementById("records").textContent);
const GRAPH = RECORDS.graph, SCHEDULE = RECORDS.schedule, SOURCE = RECORDS.source;
const HEADER = GRAPH || SCHEDULE;
const ENTRIES = GRAPH ? GRAPH.modules : [];
const BY_ID = new Map(ENTRIES.map(entry => [entry.id, entry]));
const BY_PATH = new Map();
const CHILDREN = new Map([[null, []]]);
for (const entry of ENTRIES) {
  if (entry.path !== undefined && !BY_PATH.has(entry.path)) BY_PATH.set(entry.path, entry);
  CHILDREN.set(entry.id, []);
  CHILDREN.get(entry.parent).push(entry);
}

const product = dims => dims.reduce((all, dim) => (typeof dim === "number" ? all * dim : NaN), 1);

// Sizes of every entry: `own` parameters of all its instances, and sums over what is below it.
const SIZES = new Map();
(function measure() {
  const seen = new Set();
  const instances = new Map([[null, 1]]);
  for (const entry of ENTRIES) {
    const repeat = entry.repeat && entry.repeat.by === "instances" ? entry.repeat.count || 1 : 1;
    instances.set(entry.id, instances.get(entry.parent) * repeat);
    const first = entry.path === undefined || !seen.has(entry.path);
    if (entry.path !== undefined) seen.add(entry.path);
    let own = 0;
    if (first && entry.parameters && !entry.shares)
      for (const dims of Object.values(entry.parameters)) own += product(dims) || 0;
    const runs = entry.level === "op" ? entry.multiplicity || 0 : 0;
    SIZES.set(entry.id, {parameters: own * instances.get(entry.id), ops: runs});
  }
  for (let index = ENTRIES.length - 1; index >= 0; index--) {
    const entry = ENTRIES[index], size = SIZES.get(entry.id), above = SIZES.get(entry.parent);
    if (above) { above.parameters += size.parameters; above.ops += size.ops; }
  }
})();

const DEPTH = new Map([[null, -1]]);
for (const entry of ENTRIES) DEPTH.set(entry.id, DEPTH.get(entry.parent) + 1);

const short = value => value >= 1e9 ? (value / 1e9).toFixed(2) + " G" : value >= 1e6 ? (value / 1e6).toFixed(2) + " M"
  : value >= 1e3 ? (value / 1e3).toFixed(1) + " k" : String(value);
const times = entry => entry.multiplicity === null ? "?" : entry.multiplicity === 1 ? "" : "× " + entry.multiplicity.toLocaleString("en");
const label = entry => entry.path === "" ? entry.name : entry.path !== undefined ? entry.name : entry.name;

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties))
    if (name === "on") made.addEventListener("click", value); else if (name === "class") made.className = value; else made.setAttribute(name, value);
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

function anchorView(anchor) {
  const line = SOURCE[anchor];
  return element("span", {}, element("code", {}, anchor), line ? element("code", {class: "line"}, line) : null);
}
