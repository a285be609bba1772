// name: unknown_repeats
// title: Repeats whose count is not known, with what would settle it
// group: job
// param: job job  the job to look at
// returns: unit string, expr string, reason string, settle_with string, bound_at string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m)
WHERE m.repeat_unit IS NOT NULL AND m.repeat_count IS NULL
OPTIONAL MATCH (u:UnresolvedEntry)-[:MISSING_FROM]->(m)
RETURN m.repeat_unit AS unit, m.repeat_expr AS expr, u.reason AS reason, u.option + ' ' + u.option_name AS settle_with,
  m.repeat_anchor AS bound_at
ORDER BY h.order, reason
