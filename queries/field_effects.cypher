// name: field_effects
// title: What a configuration field decides in a job: counts, sizes, settings
// group: job
// param: job job  the job to look at
// param: field string  name as the code writes it: n_layer
// returns: section string, name string, expr string, value string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m)
WITH h, m, coalesce(m.repeat_expr, m.expr, m.guard, m.every_expr, '') AS expr
WHERE expr = $field OR expr STARTS WITH $field + ' ' OR expr ENDS WITH '.' + $field OR expr ENDS WITH ' ' + $field
  OR expr CONTAINS '.' + $field + ' ' OR expr CONTAINS ' ' + $field + ' ' OR expr CONTAINS $field + ')' OR expr CONTAINS '(' + $field
RETURN h.section AS section, coalesce(m.module_path, m.item, m.name) AS name, expr, toString(coalesce(m.repeat_count, m.count, m.value)) AS value, m.anchor AS anchor
ORDER BY section, h.order
