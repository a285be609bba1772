// name: phases
// title: The phases of a job, in order
// group: schedule
// param: job job  the job to look at
// returns: name string, kind string, every int, unit string, repeat int, runs_on string, ranks string, anchor string
MATCH (:Job {id: $job})-[:HAS_ENTRY]->(p:Phase)
RETURN p.name AS name, p.kind AS kind, p.every_count AS every, p.every_unit AS unit, p.repeat AS repeat, p.runs_on AS runs_on,
  p.ranks AS ranks, p.anchor AS anchor
ORDER BY p.order
