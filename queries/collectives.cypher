// name: collectives
// title: The collectives of a job: who issues them, when, and who waits
// group: distributed
// param: job job  the job to look at
// returns: collective string, parallelism string, issued_by string, blocking bool, phase string, per string, repeat int, bytes int, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(c:Collective)
RETURN c.collective AS collective, c.parallelism AS parallelism, c.issued_by AS issued_by, c.blocking AS blocking, c.phase AS phase,
  c.per AS per, c.repeat AS repeat, c.bytes AS bytes, c.anchor AS anchor
ORDER BY h.order
