// name: job_loops
// title: The loops of the job: epochs, steps, micro-steps, requests
// group: schedule
// param: job job  the job to look at
// returns: unit string, count int, expr string, inside string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(l:JobLoop)
RETURN l.unit AS unit, l.count AS count, l.expr AS expr, l.inside AS inside, l.anchor AS anchor
ORDER BY h.order
