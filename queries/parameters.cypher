// name: parameters
// title: The modules that own parameters, largest first
// group: job
// param: job job  the job to look at
// returns: numbers int, path string, type_name string, parameters string
// note: Numbers are of one instance of the folded entry; path and count say how many there are.
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m:ModuleEntry)
WHERE m.parameters_json IS NOT NULL
RETURN m.parameter_count AS numbers, m.module_path AS path, m.type_name AS type_name, m.parameters_json AS parameters
ORDER BY coalesce(numbers, 0) DESC, h.order
