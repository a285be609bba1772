// name: module_tree
// title: The module tree of a job: path, class, repeats and where each runs
// group: job
// param: job job  the job to look at
// returns: depth int, path string, level string, type_name string, count int, multiplicity int, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m:ModuleEntry)
RETURN m.depth AS depth, m.module_path AS path, m.level AS level, m.type_name AS type_name, m.repeat_count AS count,
  m.multiplicity AS multiplicity, m.anchor AS anchor
ORDER BY h.order
