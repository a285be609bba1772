// name: unresolved_by_reason
// title: Call sites without a target, counted by reason
// group: calls
// param: commit commit  the commit to look at
// returns: reason string, sites int, functions int, meaning string
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f)-[e:UNRESOLVED_CALL]->(r:Reason)
RETURN r.name AS reason, count(e) AS sites, count(DISTINCT f) AS functions, r.doc AS meaning
ORDER BY sites DESC, reason
