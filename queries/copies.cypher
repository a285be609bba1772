// name: copies
// title: Copies between host and device, by phase
// group: schedule
// param: job job  the job to look at
// returns: direction string, what string, source string, blocks_host bool, phase string, per string, repeat int, bytes int, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(c:Copy)
RETURN c.direction AS direction, c.what AS what, c.source AS source, c.blocks_host AS blocks_host, c.phase AS phase, c.per AS per,
  c.repeat AS repeat, c.bytes AS bytes, c.anchor AS anchor
ORDER BY h.order
