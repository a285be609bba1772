// name: never_run
// title: Modules that are built but that the step never runs
// group: job
// param: job job  the job to look at
// returns: path string, type_name string, constructed_at string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m:ModuleEntry)
WHERE m.runs = false
RETURN m.module_path AS path, m.type_name AS type_name, m.constructed_at AS constructed_at
ORDER BY h.order
