// name: module_at
// title: Which module instances run the code of a function: from a code place to paths in the model
// group: job
// param: job job  the job to look at
// param: symbol string  qualified name of the function: model.Block.forward
// returns: label string, path string, multiplicity int, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m)-[:RUNS_AT]->(:Symbol {qname: $symbol})
RETURN labels(m)[0] AS label, coalesce(m.module_path, m.name) AS path, m.multiplicity AS multiplicity, m.anchor AS anchor
ORDER BY h.section, h.order
