// name: collective_waits
// title: Where asynchronous collectives are waited for
// group: distributed
// param: job job  the job to look at
// returns: collective string, issued_by string, issued_at string, waited_at string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(c:Collective)
WHERE c.waited_at IS NOT NULL
RETURN c.collective AS collective, c.issued_by AS issued_by, c.anchor AS issued_at, c.waited_at AS waited_at
ORDER BY h.order
