// name: unresolved_entry_reasons
// title: Why values of a job are not known, counted
// group: health
// param: job job  the job to look at
// returns: reason string, entries int, meaning string
MATCH (:Job {id: $job})-[:HAS_ENTRY]->(u:UnresolvedEntry)-[:BECAUSE]->(r:Reason)
RETURN r.name AS reason, count(u) AS entries, r.doc AS meaning
ORDER BY entries DESC, reason
