"use strict";
// The module tree: only the rows in sight are in the document, so that a record of any size scrolls.
const ROW = 24;
const tree = document.getElementById("tree"), rowsBox = document.getElementById("rows"), search = document.getElementById("search");
const state = {open: new Set(), ops: true, query: "", chosen: null, visible: [], hits: new Set(), metric: "parameters"};

function unfoldTo(depth) {
  state.open.clear();
  for (const entry of ENTRIES) if (DEPTH.get(entry.id) < depth && CHILDREN.get(entry.id).length) state.open.add(entry.id);
}

function matches(entry) {
  const text = `${entry.path || ""} ${entry.type} ${entry.name} ${entry.code_anchor || ""}`.toLowerCase();
  return state.query.split(/\s+/).every(word => text.includes(word));
}

function relist() {
  state.hits.clear();
  let shown = null;
  if (state.query) {
    shown = new Set();
    for (const entry of ENTRIES) if (matches(entry)) {
      state.hits.add(entry.id);
      for (let step = entry; step; step = BY_ID.get(step.parent)) shown.add(step.id);
    }
  }
  state.visible = [];
  const stack = [...CHILDREN.get(null)].reverse();
  while (stack.length) {
    const entry = stack.pop();
    if (entry.level === "op" && !state.ops) continue;
    if (shown && !shown.has(entry.id)) continue;
    state.visible.push(entry);
    if (shown || state.open.has(entry.id)) stack.push(...[...CHILDREN.get(entry.id)].reverse());
  }
  document.getElementById("found").textContent = state.query ? `${state.hits.size} found` : `${ENTRIES.length} entries`;
  rowsBox.style.height = state.visible.length * ROW + "px";
  draw();
}

function draw() {
  const first = Math.max(0, Math.floor(tree.scrollTop / ROW) - 10);
  const last = Math.min(state.visible.length, first + Math.ceil(tree.clientHeight / ROW) + 20);
  const total = CHILDREN.get(null).reduce((sum, entry) => sum + SIZES.get(entry.id)[state.metric], 0) || 1;
  rowsBox.replaceChildren(...d3.range(first, last).map(index => row(state.visible[index], index, total)));
}

function row(entry, index, total) {
  const below = CHILDREN.get(entry.id).some(child => state.ops || child.level !== "op");
  const open = state.query || state.open.has(entry.id);
  const size = SIZES.get(entry.id);
  const classes = ["row", entry.id === state.chosen ? "chosen" : "", state.hits.has(entry.id) ? "hit" : "", entry.runs === false ? "idle" : ""];
  const share = element("i", {style: `width:${(100 * size[state.metric] / total).toFixed(1)}%`});
  const made = element("div", {class: classes.join(" "), role: "treeitem", "aria-level": DEPTH.get(entry.id) + 1, "data-id": entry.id,
    "aria-selected": entry.id === state.chosen, style: `top:${index * ROW}px`, title: entry.path || entry.name,
    on: event => { choose(entry.id); if (event.target.className === "twist") toggle(entry); }},
    element("span", {style: `padding-left:${DEPTH.get(entry.id) * 0.9}rem`},
      element("span", {class: "twist"}, below ? (open ? "▾" : "▸") : ""), element("span", {class: `label level-${entry.level}`}, label(entry))),
    element("span", {class: "type"}, entry.type),
    element("span", {class: "number"}, times(entry)),
    element("span", {class: "number share"}, size.parameters ? short(size.parameters) : "", share));
  if (below) made.setAttribute("aria-expanded", Boolean(open));
  return made;
}

function toggle(entry, open = !state.open.has(entry.id)) {
  if (open) state.open.add(entry.id); else state.open.delete(entry.id);
  relist();
}

function choose(id, scroll = false) {
  state.chosen = id;
  const index = state.visible.findIndex(entry => entry.id === id);
  if (scroll && index >= 0) {
    const top = index * ROW;
    if (top < tree.scrollTop) tree.scrollTop = top;
    else if (top + ROW > tree.scrollTop + tree.clientHeight) tree.scrollTop = top + ROW - tree.clientHeight;
  }
  draw();
  showEntry(BY_ID.get(id));
  markIcicle();
}

function reveal(id) {
  state.query = search.value = "";
  for (let step = BY_ID.get(BY_ID.get(id).parent); step; step = BY_ID.get(step.parent)) state.open.add(step.id);
  relist();
  showTab("modules");
  choose(id, true);
}

function treeKey(event) {
  const index = state.visible.findIndex(entry => entry.id === state.chosen);
  const entry = state.visible[index];
  const go = to => { if (state.visible.length) choose(state.visible[Math.max(0, Math.min(state.visible.length - 1, to))].id, true); };
  const page = Math.max(1, Math.floor(tree.clientHeight / ROW) - 1);
  const moves = {ArrowDown: () => go(index + 1), ArrowUp: () => go(index - 1), Home: () => go(0), End: () => go(state.visible.length - 1),
    PageDown: () => go(index + page), PageUp: () => go(index - page),
    ArrowRight: () => entry && (state.open.has(entry.id) ? go(index + 1) : toggle(entry, true)),
    ArrowLeft: () => entry && (state.open.has(entry.id) ? toggle(entry, false) : entry.parent && choose(entry.parent, true)),
    Enter: () => entry && toggle(entry)};
  if (moves[event.key]) { event.preventDefault(); moves[event.key](); }
}
