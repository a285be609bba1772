// name: step_syncs
// title: Syncs that every step makes, with the path of calls to them
// group: schedule
// param: job job  the job to look at
// returns: kind string, what string, phase string, repeat int, via list, module string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(s:Sync)
WHERE NOT coalesce(s.per, 'step') IN ['job', 'epoch'] AND coalesce(s.every, 1) = 1
RETURN s.kind AS kind, s.what AS what, s.phase AS phase, s.repeat AS repeat, s.via AS via, s.module AS module, s.anchor AS anchor
ORDER BY h.order
