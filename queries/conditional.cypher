// name: conditional
// title: Entries that run only on a branch that could not be decided
// group: job
// param: job job  the job to look at
// returns: condition string, name string, type_name string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m)
WHERE m.when_text IS NOT NULL
RETURN m.when_text AS condition, coalesce(m.module_path, m.name) AS name, m.type_name AS type_name, m.anchor AS anchor
ORDER BY h.order
