// name: repeats
// title: Everything that repeats in a step: how often, and what says so
// group: job
// param: job job  the job to look at
// returns: unit string, count int, by string, expr string, bound_at string, path string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m)
WHERE m.repeat_unit IS NOT NULL
RETURN m.repeat_unit AS unit, m.repeat_count AS count, m.repeat_by AS by, m.repeat_expr AS expr, m.repeat_anchor AS bound_at,
  coalesce(m.module_path, m.name) AS path
ORDER BY h.order
