// name: index_health
// title: How much of each commit was read and resolved
// group: health
// returns: name string, files int, lines int, sites int, resolved int, external int, unresolved int, unresolved_percent float
MATCH (c:Commit)
RETURN c.name AS name, c.files AS files, c.lines AS lines, c.sites AS sites, c.resolved AS resolved, c.external AS external,
  c.unresolved AS unresolved, round(1000.0 * c.unresolved / CASE WHEN c.sites = 0 THEN 1 ELSE c.sites END) / 10 AS unresolved_percent
ORDER BY coalesce(c.time, 0), name
