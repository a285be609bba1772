// name: syncs
// title: Where the host waits for the device
// group: schedule
// param: job job  the job to look at
// returns: kind string, what string, phase string, per string, every int, repeat int, ranks string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(s:Sync)
RETURN s.kind AS kind, s.what AS what, s.phase AS phase, s.per AS per, s.every AS every, s.repeat AS repeat, s.ranks AS ranks, s.anchor AS anchor
ORDER BY h.order
