// name: dims
// title: The symbolic dims of the shapes, with their values where known
// group: job
// param: job job  the job to look at
// returns: name string, value int, expr string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(d:Dim)
RETURN d.name AS name, d.value AS value, d.expr AS expr, d.anchor AS anchor
ORDER BY h.order
