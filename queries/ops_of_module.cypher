// name: ops_of_module
// title: The ops that run in a module's forward, in order
// group: job
// param: job job  the job to look at
// param: path string  path of the module, as module_tree shows it
// returns: position int, name string, type_name string, multiplicity int, anchor string
MATCH (:Job {id: $job})-[:HAS_ENTRY]->(m:ModuleEntry {module_path: $path})-[c:CHILD]->(o:OpEntry)
RETURN coalesce(c.time, 0) AS position, o.name AS name, o.type_name AS type_name, o.multiplicity AS multiplicity, o.anchor AS anchor
ORDER BY position, name
