// name: phase_contents
// title: Everything that happens in a phase
// group: schedule
// param: job job  the job to look at
// param: phase string  name of the phase
// returns: section string, name string, per string, repeat int, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(e)-[:IN_PHASE]->(:Phase {name: $phase})
RETURN h.section AS section, e.name AS name, e.per AS per, e.repeat AS repeat, e.anchor AS anchor
ORDER BY section, h.order
