// name: instances_of_class
// title: The entries that are instances of a class, or runs of an op
// group: job
// param: job job  the job to look at
// param: type string  qualified name: torch.nn.Linear, model.Block
// returns: path string, count int, multiplicity int, constructed_at string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m)-[:INSTANCE_OF]->(:Symbol|External {qname: $type})
RETURN coalesce(m.module_path, m.name) AS path, m.repeat_count AS count, m.multiplicity AS multiplicity, m.constructed_at AS constructed_at
ORDER BY h.order
