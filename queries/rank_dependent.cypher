// name: rank_dependent
// title: What only some ranks do
// group: distributed
// param: job job  the job to look at
// returns: section string, name string, ranks string, phase string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(e)
WHERE e.ranks IS NOT NULL AND e.ranks <> 'all'
RETURN h.section AS section, e.name AS name, e.ranks AS ranks, e.phase AS phase, e.anchor AS anchor
ORDER BY section, h.order
