// name: repeat_changes
// title: Repeat counts that differ between two jobs, or stand in one only
// group: across-commits
// param: old_job job = previous  the earlier job
// param: new_job job  the later job
// returns: unit string, expr string, before int, after int
MATCH (:Job {id: $new_job})-[:HAS_ENTRY]->(n)
WHERE n.repeat_unit IS NOT NULL
OPTIONAL MATCH (:Job {id: $old_job})-[:HAS_ENTRY]->(o {repeat_unit: n.repeat_unit, repeat_expr: n.repeat_expr})
WITH n.repeat_unit AS unit, n.repeat_expr AS expr, max(o.repeat_count) AS before, max(n.repeat_count) AS after
WHERE coalesce(before, -1) <> coalesce(after, -1)
RETURN unit, expr, before, after
ORDER BY unit, expr
