"use strict";
// What is known of one entry, or of one event of the schedule.
const detail = document.getElementById("detail"), eventBox = document.getElementById("event");
const PLACES = new Set(["code_anchor", "constructed_at", "called_from", "waited_at", "joined_at", "entrypoint"]);

function tensor(one) {
  const dims = one.dims === null ? "?" : one.dims.map(dim => dim === null ? "?" : dim).join(", ");
  return `${one.name ? one.name + ": " : ""}${one.dtype || ""}[${dims}]`;
}

function value(name, one) {
  if (PLACES.has(name)) return element("span", {}, ...(Array.isArray(one) ? one : [one]).map(anchorView));
  if (name === "shapes") return element("code", {}, `${one.in.map(tensor).join(", ") || "()"} → ${one.out.map(tensor).join(", ") || "()"}`);
  if (name === "parameters") return element("code", {}, Object.entries(one).map(([key, dims]) => `${key} [${dims.map(dim => dim === null ? "?" : dim).join(", ")}]`).join("; "));
  if (name === "repeat" && typeof one === "object")
    return element("span", {}, `${one.count === null ? "?" : one.count} ${one.by} of ${one.unit}`, one.expr ? element("code", {class: "line"}, one.expr) : null, one.code_anchor ? anchorView(one.code_anchor) : null);
  if (name === "module" || name === "shares") return BY_PATH.has(one) ? element("a", {on: () => reveal(BY_PATH.get(one).id), tabindex: 0}, one || "(root)") : one;
  if (typeof one === "object" && one !== null) return element("code", {}, JSON.stringify(one));
  return String(one);
}

function listed(entry, skip = []) {
  const list = element("dl");
  for (const [name, one] of Object.entries(entry))
    if (!skip.includes(name) && one !== null && !(name === "multiplicity" && one === 1)) list.append(element("dt", {}, name), element("dd", {}, value(name, one)));
  return list;
}

function showEntry(entry) {
  if (!entry) return detail.replaceChildren();
  const open = GRAPH.unresolved.filter(item => item.entry === entry.id);
  const events = SCHEDULE ? EVENTS.filter(event => event.data.module === entry.path && entry.path !== undefined) : [];
  detail.replaceChildren(element("h2", {}, entry.path || entry.name), listed(entry, ["id", "name", "path", "parent", "order"]),
    ...open.map(item => element("p", {}, `not known: ${item.field} of ${item.name} (${item.reason})`)),
    ...events.map(event => element("p", {}, element("a", {on: () => { showTab("schedule"); showEvent(event); }, tabindex: 0}, event.text))));
}

function showEvent(event) {
  d3.selectAll("#lanes .event").classed("chosen", one => one === event);
  eventBox.replaceChildren(element("h2", {}, event.text), listed(event.data));
}

function table(caption, rows, columns) {
  const head = element("tr", {}, ...columns.map(name => element("th", {scope: "col"}, name)));
  const body = rows.map(one => element("tr", {}, ...columns.map(name => element("td", {}, one[name] === undefined || one[name] === null ? "" : value(name, one[name])))));
  return element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body));
}
