// name: changed_under_step
// title: Functions that a job runs and that changed since an earlier commit
// group: across-commits
// param: old commit = previous  the earlier commit
// param: job job  the job at the later commit
// returns: symbol string, entries int, anchor string
MATCH (:Commit {id: $old})-[:HAS]->(:File)-[:DEFINES]->(v:Function)
WITH collect(v.id) AS had, collect(v.qname + ' ' + coalesce(v.exact, v.id)) AS bodies
MATCH (j:Job {id: $job})-[:HAS_ENTRY]->(e)-[:RUNS_AT]->(s:Symbol)-[:DEFINED_BY]->(f:Function)
MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit)<-[:OF]-(j)
WHERE NOT f.id IN had AND NOT f.qname + ' ' + coalesce(f.exact, f.id) IN bodies
RETURN s.qname AS symbol, count(DISTINCT e) AS entries, f.anchor AS anchor
ORDER BY symbol, anchor
