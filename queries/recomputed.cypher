// name: recomputed
// title: What activation checkpointing runs again
// group: job
// param: job job  the job to look at
// returns: path string, type_name string, times int, multiplicity int, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m)
WHERE m.recomputed IS NOT NULL AND m.recomputed > 0
RETURN coalesce(m.module_path, m.name) AS path, m.type_name AS type_name, m.recomputed AS times, m.multiplicity AS multiplicity, m.anchor AS anchor
ORDER BY h.order
