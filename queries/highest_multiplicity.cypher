// name: highest_multiplicity
// title: The entries that run most often in a step
// group: job
// param: job job  the job to look at
// param: count int = 10  how many
// returns: multiplicity int, level string, name string, type_name string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m)
WHERE m.multiplicity IS NOT NULL
RETURN m.multiplicity AS multiplicity, coalesce(m.level, 'op') AS level, coalesce(m.module_path, m.name) AS name,
  m.type_name AS type_name, m.anchor AS anchor
ORDER BY multiplicity DESC, h.order
LIMIT $count
