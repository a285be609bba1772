"use strict";
// Modules as nested bars, wide by the chosen measure.
const icicle = d3.select("#icicle");

function typeColour(type) {
  let hash = 0;
  for (const sign of type) hash = (hash * 31 + sign.charCodeAt(0)) >>> 0;
  return d3.hsl(hash % 360, 0.55, 0.72).formatHex();
}

function drawIcicle() {
  const box = icicle.node().getBoundingClientRect();
  icicle.selectAll("*").remove();
  if (!ENTRIES.length || !box.width) return;
  const keep = entry => entry.level !== "op" && SIZES.get(entry.id)[state.metric] > 0;
  const top = {id: null, children: null};
  const root = d3.hierarchy(top, entry => CHILDREN.get(entry.id).filter(keep));
  root.eachAfter(node => {
    const own = node.data.id === null ? 0 : SIZES.get(node.data.id)[state.metric];
    const below = d3.sum(node.children || [], child => child.value);
    node.value = Math.max(own, below);
  });
  const smallest = root.value / box.width;
  d3.partition().size([box.width, box.height * (root.height + 1) / Math.max(1, root.height)])(root);
  const band = root.y1 - root.y0;
  const nodes = root.descendants().filter(node => node.depth > 0 && node.value >= smallest);
  const groups = icicle.selectAll("g").data(nodes).join("g").attr("transform", node => `translate(${node.x0},${node.y0 - band})`);
  groups.append("rect").attr("width", node => Math.max(1, node.x1 - node.x0)).attr("height", node => node.y1 - node.y0)
    .attr("fill", node => typeColour(node.data.type)).on("click", (_, node) => reveal(node.data.id))
    .append("title").text(node => `${node.data.path || node.data.name}  ${node.data.type}\n${short(node.value)} ${state.metric} ${times(node.data)}`);
  groups.filter(node => node.x1 - node.x0 > 46 && node.y1 - node.y0 > 13).append("text").attr("x", 4).attr("y", 13)
    .text(node => { const room = Math.floor((node.x1 - node.x0 - 6) / 6.2), text = label(node.data); return text.length > room ? text.slice(0, room - 1) + "…" : text; });
  markIcicle();
}

function markIcicle() {
  icicle.selectAll("rect").classed("chosen", node => node.data.id === state.chosen);
}
