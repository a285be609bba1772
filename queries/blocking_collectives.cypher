// name: blocking_collectives
// title: Collectives of each step that nothing overlaps
// group: distributed
// param: job job  the job to look at
// returns: collective string, issued_by string, phase string, per string, repeat int, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(c:Collective)
WHERE c.blocking = true AND NOT coalesce(c.per, 'step') IN ['job', 'epoch']
RETURN c.collective AS collective, c.issued_by AS issued_by, c.phase AS phase, c.per AS per, c.repeat AS repeat, c.anchor AS anchor
ORDER BY h.order
