// name: pageable_copies
// title: Copies from pageable memory that each step makes: each blocks the host
// group: schedule
// param: job job  the job to look at
// returns: what string, direction string, per string, repeat int, bytes int, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(c:Copy)
WHERE c.source = 'pageable' AND NOT coalesce(c.per, 'step') IN ['job', 'epoch']
RETURN c.what AS what, c.direction AS direction, c.per AS per, c.repeat AS repeat, c.bytes AS bytes, c.anchor AS anchor
ORDER BY h.order
