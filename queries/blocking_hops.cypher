// name: blocking_hops
// title: Hops of the data path that the step waits for
// group: schedule
// param: job job  the job to look at
// returns: hop string, by string, workers int, anchor string
MATCH (:Job {id: $job})-[:HAS_ENTRY]->(d:Hop)
WHERE d.blocks_step = true
RETURN d.hop AS hop, d.by AS by, d.workers AS workers, d.anchor AS anchor
ORDER BY d.order
