// name: shallow_modules
// title: Running modules of a job with neither children nor anything unresolved to say why
// group: health
// param: job job  the job to look at
// returns: path string, type_name string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m:ModuleEntry)
WHERE m.runs = true AND NOT (m)-[:CHILD]->() AND NOT (m)<-[:MISSING_FROM]-()
RETURN m.module_path AS path, m.type_name AS type_name, m.anchor AS anchor
ORDER BY h.order
