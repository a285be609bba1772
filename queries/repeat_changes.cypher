// name: repeat_changes
// title: Repeat counts that differ between two jobs, or stand in one only
// group: across-commits
// param: old_job job = previous  the earlier job
// param: new_job job  the later job
// returns: unit string, expr string, before int, after int
MATCH (j:Job)-[:HAS_ENTRY]->(n)
WHERE j.id IN [$old_job, $new_job] AND n.repeat_unit IS NOT NULL
WITH n.repeat_unit AS unit, n.repeat_expr AS expr,
  max(CASE WHEN j.id = $old_job THEN n.repeat_count END) AS before,
  max(CASE WHEN j.id = $new_job THEN n.repeat_count END) AS after
WHERE coalesce(before, -1) <> coalesce(after, -1)
RETURN unit, expr, before, after
ORDER BY unit, expr
