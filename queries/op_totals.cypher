// name: op_totals
// title: How often each op runs in a step, over all places
// group: job
// param: job job  the job to look at
// returns: type_name string, runs int, places int
MATCH (:Job {id: $job})-[:HAS_ENTRY]->(o:OpEntry)
RETURN o.type_name AS type_name, sum(o.multiplicity) AS runs, count(o) AS places
ORDER BY runs DESC, type_name
