"use strict";
// Tabs, keys, colours; the first drawing.
const TABS = ["modules", "schedule", "unresolved"];

function showTab(name) {
  for (const tab of TABS) {
    document.getElementById(`view-${tab}`).hidden = tab !== name;
    document.getElementById(`tab-${tab}`).setAttribute("aria-selected", tab === name);
  }
  location.hash = name;
  if (name === "modules") { draw(); drawIcicle(); }
  if (name === "schedule") drawLanes();
}

function theme(next) {
  const names = ["auto", "light", "dark"], button = document.getElementById("theme");
  const name = next || names[(names.indexOf(button.textContent) + 1) % 3];
  if (name === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = name;
  button.textContent = name;
}

function drawUnresolved() {
  const of = (record, kind) => (record ? record.unresolved : []).map(item => ({
    record: kind, ...item, "settle with": item.settle_with ? `${item.settle_with.option} ${item.settle_with.name}=…` : "",
    entry: item.entry && BY_ID.has(item.entry) ? BY_ID.get(item.entry).path || item.entry : item.entry}));
  const rows = [...of(GRAPH, "graph"), ...of(SCHEDULE, "schedule")];
  document.getElementById("tab-unresolved").textContent = `Unresolved (${rows.length})`;
  document.getElementById("unresolved").replaceChildren(rows.length
    ? table("What could not be derived", rows, ["record", "name", "field", "entry", "reason", "settle with", "code_anchor"])
    : element("p", {class: "empty"}, "Everything was derived."));
}

document.getElementById("title").textContent = `${HEADER.repository}${HEADER.job_type ? " · " + HEADER.job_type : ""}${HEADER.commit ? " · " + HEADER.commit.slice(0, 10) : ""}`;
document.getElementById("question").textContent = HEADER.launch ? HEADER.launch.join(" ") : HEADER.build || "";
document.getElementById("theme").addEventListener("click", () => theme());
for (const tab of TABS) document.getElementById(`tab-${tab}`).addEventListener("click", () => showTab(tab));
tree.addEventListener("scroll", () => requestAnimationFrame(draw));
tree.addEventListener("keydown", treeKey);
search.addEventListener("input", () => { state.query = search.value.trim().toLowerCase(); tree.scrollTop = 0; relist(); });
document.getElementById("show-ops").addEventListener("change", event => { state.ops = event.target.checked; relist(); });
document.getElementById("metric").addEventListener("change", event => { state.metric = event.target.value; draw(); drawIcicle(); });
document.getElementById("unfold").addEventListener("click", () => { unfoldTo(Infinity); relist(); });
document.getElementById("fold").addEventListener("click", () => { unfoldTo(1); relist(); });
addEventListener("resize", () => { draw(); drawIcicle(); });
addEventListener("keydown", event => {
  const typing = ["INPUT", "SELECT"].includes(event.target.tagName);
  if (event.key === "Escape") { search.value = ""; state.query = ""; relist(); tree.focus(); }
  else if (!typing && event.key === "/") { event.preventDefault(); showTab("modules"); search.focus(); }
  else if (!typing && TABS["123".indexOf(event.key)]) showTab(TABS["123".indexOf(event.key)]);
});

unfoldTo(ENTRIES.length > 400 ? 2 : 3);
relist();
drawTables();
drawUnresolved();
if (!GRAPH) document.getElementById("tab-modules").disabled = true;
showTab(TABS.includes(location.hash.slice(1)) ? location.hash.slice(1) : GRAPH ? "modules" : "schedule");
if (ENTRIES.length) choose(ENTRIES[0].id);
document.documentElement.dataset.ready = "yes";
