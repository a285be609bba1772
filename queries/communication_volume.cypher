// name: communication_volume
// title: Bytes that collectives move in a step, where both size and count are known
// group: distributed
// param: job job  the job to look at
// returns: collective string, parallelism string, issues int, bytes int
MATCH (:Job {id: $job})-[:HAS_ENTRY]->(c:Collective)
WHERE c.bytes IS NOT NULL AND NOT coalesce(c.per, 'step') IN ['job', 'epoch']
RETURN c.collective AS collective, c.parallelism AS parallelism, count(c) AS issues, sum(c.bytes * coalesce(c.repeat, 1)) AS bytes
ORDER BY bytes DESC, collective, parallelism
