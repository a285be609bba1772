// name: collectives_in_forward
// title: Which modules issue a collective in their forward
// group: distributed
// param: job job  the job to look at
// returns: path string, type_name string, collective string, blocking bool, repeat int, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(c:Collective)-[:IN_MODULE]->(m:ModuleEntry)
RETURN m.module_path AS path, m.type_name AS type_name, c.collective AS collective, c.blocking AS blocking, c.repeat AS repeat, c.anchor AS anchor
ORDER BY h.order
