// name: stalls
// title: What makes the host wait in a step: syncs, blocking copies, blocking data hops and collectives
// group: schedule
// param: job job  the job to look at
// returns: section string, name string, per string, every int, repeat int, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(e)
WHERE (h.section = 'syncs' AND NOT coalesce(e.per, 'step') IN ['job', 'epoch'])
  OR (h.section = 'copies' AND e.blocks_host = true AND NOT coalesce(e.per, 'step') IN ['job', 'epoch'])
  OR (h.section = 'data_path' AND e.blocks_step = true)
  OR (h.section = 'device_device' AND e.blocking = true AND NOT coalesce(e.per, 'step') IN ['job', 'epoch'])
RETURN h.section AS section, e.name AS name, e.per AS per, e.every AS every, e.repeat AS repeat, e.anchor AS anchor
ORDER BY section, h.order
