"use strict";
// One step as lanes: phases from left to right, and in each what the host, the copy engines, the kernels and the links do.
const LANES = [["host", "Host"], ["sync", "Syncs"], ["copy", "Copies"], ["compute", "Compute"], ["comm", "Communication"]];
const PHASE_OF = {forward: "forward", backward: "backward", optimizer_step: "optimizer", zero_grad: "optimizer", grad_clip: "optimizer",
  grad_scaler: "optimizer", lr_schedule: "optimizer", ema: "optimizer", grad_sync: "backward"};

const EVENTS = SCHEDULE ? events() : [];

function events() {
  const found = [];
  const add = (lane, phase, text, data) => found.push({lane, phase, text, data});
  for (const hop of SCHEDULE.data_path) add("host", "data", `${hop.hop} ${last(hop.by)}`, hop);
  for (const sync of SCHEDULE.host_device.syncs) add("sync", sync.phase, `${sync.kind}: ${sync.what}`, sync);
  for (const copy of SCHEDULE.host_device.copies) add("copy", copy.phase, `${copy.direction} ${copy.what}${copy.non_blocking ? " (async)" : ""}`, copy);
  for (const one of SCHEDULE.device_device) add("comm", one.phase, `${one.collective}${one.issued_by && one.issued_by !== "call" ? " · " + one.issued_by : ""}`, one);
  for (const [key, value] of Object.entries(SCHEDULE.compute))
    for (const one of Array.isArray(value) ? value : [value]) if (PHASE_OF[key]) add("compute", one.phase || PHASE_OF[key], `${key}${one.value !== undefined && one.value !== null && typeof one.value !== "object" ? ": " + one.value : ""}`, one);
  return found;
}

function last(name) { return String(name).split(".").pop(); }

function drawLanes() {
  const svg = d3.select("#lanes");
  svg.selectAll("*").remove();
  if (!SCHEDULE || !SCHEDULE.phases.length) return;
  const order = [...new Set(SCHEDULE.phases.map(phase => phase.name))];
  for (const event of EVENTS) if (event.phase && !order.includes(event.phase)) order.push(event.phase);
  const left = 110, width = 190, card = 22, gap = 4, head = 46;
  const cell = d3.group(EVENTS, event => event.lane, event => event.phase || order[0]);
  const rows = LANES.map(([key]) => Math.max(1, d3.max(order, phase => (cell.get(key)?.get(phase) || []).length)));
  const tops = d3.cumsum([0, ...rows.map(count => count * (card + gap) + 10)]);
  const height = head + tops.at(-1) + 10;
  svg.attr("width", left + order.length * width).attr("height", height);
  const heads = svg.selectAll("g.phase").data(order).join("g").attr("class", "phase").attr("transform", (_, index) => `translate(${left + index * width},0)`);
  heads.append("text").attr("x", 6).attr("y", 16).attr("font-weight", 600).text(name => name);
  heads.append("text").attr("class", "soft").attr("x", 6).attr("y", 32).text(name => phaseText(name));
  svg.selectAll("rect.lane").data(LANES).join("rect").attr("class", "lane").attr("x", 0).attr("y", (_, index) => head + tops[index])
    .attr("width", left + order.length * width).attr("height", (_, index) => tops[index + 1] - tops[index] - 4);
  svg.selectAll("text.lane-name").data(LANES).join("text").attr("class", "lane-name").attr("x", 8).attr("y", (_, index) => head + tops[index] + 18).text(lane => lane[1]);
  LANES.forEach(([key], index) => order.forEach((phase, column) => {
    const cards = svg.append("g").selectAll("g").data(cell.get(key)?.get(phase) || []).join("g").attr("class", "event").attr("tabindex", 0).attr("role", "button")
      .style("--kind", `var(--${key})`).attr("transform", (_, at) => `translate(${left + column * width + 4},${head + tops[index] + 5 + at * (card + gap)})`)
      .on("click", (_, event) => showEvent(event)).on("keydown", (press, event) => { if (press.key === "Enter") showEvent(event); });
    cards.append("rect").attr("width", width - 10).attr("height", card);
    cards.append("text").attr("x", 6).attr("y", 15).text(event => event.text.length > 25 ? event.text.slice(0, 24) + "…" : event.text);
    cards.append("title").text(event => `${event.text}\n${event.data.code_anchor || ""}`);
  }));
}

function phaseText(name) {
  const phase = SCHEDULE.phases.find(one => one.name === name);
  if (!phase) return "";
  const every = phase.every && phase.every.count ? ` every ${phase.every.count} ${phase.every.unit || ""}` : "";
  return `${phase.kind}${every}${phase.repeat > 1 ? " × " + phase.repeat : ""}${phase.ranks !== "all" ? " · " + phase.ranks : ""}`;
}

function drawTables() {
  const box = document.getElementById("tables");
  if (!SCHEDULE) return box.replaceChildren(element("p", {class: "empty"}, "No execution schedule was given."));
  box.replaceChildren(
    table("Meant to overlap", SCHEDULE.overlap, ["what", "with", "mechanism", "stream", "joined_at", "code_anchor"]),
    table("Loops", SCHEDULE.loops, ["unit", "count", "expr", "inside", "code_anchor"]),
    table("Compute", Object.entries(SCHEDULE.compute).flatMap(([item, value]) => (Array.isArray(value) ? value : [value]).map(one => ({item, ...one}))), ["item", "value", "code_anchor"]));
}
