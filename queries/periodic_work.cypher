// name: periodic_work
// title: What happens only every so many steps, with its guard
// group: schedule
// param: job job  the job to look at
// returns: section string, name string, every int, unit string, guard string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(e)
WHERE e.every_count IS NOT NULL OR e.every > 1
RETURN h.section AS section, e.name AS name, coalesce(e.every_count, e.every) AS every, coalesce(e.every_unit, e.per) AS unit,
  coalesce(e.every_guard, e.guard) AS guard, e.anchor AS anchor
ORDER BY section, h.order
