// name: compute_settings
// title: How a step computes: accumulation, precision, optimizer, checkpointing, compilation
// group: schedule
// param: job job  the job to look at
// param: item string = ""  only this one
// returns: item string, value string, expr string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(c:Compute)
WHERE $item = '' OR c.item = $item
RETURN c.item AS item, c.value AS value, c.expr AS expr, c.anchor AS anchor
ORDER BY h.order
