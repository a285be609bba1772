// name: changed_under_step
// title: Functions that a job runs and that changed since an earlier commit
// group: across-commits
// param: old commit = previous  the earlier commit
// param: job job  the job at the later commit
// returns: symbol string, entries int, anchor string
MATCH (o:Commit {id: $old}), (j:Job {id: $job})-[:OF]->(n:Commit)
MATCH (j)-[:HAS_ENTRY]->(e)-[:RUNS_AT]->(s:Symbol)
WITH o, n, s, count(DISTINCT e) AS entries
MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(n)
WHERE NOT EXISTS { MATCH (o)-[:HAS]->(d) }
OPTIONAL MATCH (s)-[:DEFINED_BY]->(g:Function {exact: f.exact})<-[:DEFINES]-(b:File)<-[:HAS]-(o)
WITH s, f, entries, g WHERE g IS NULL
RETURN s.qname AS symbol, entries, f.anchor AS anchor
ORDER BY symbol, anchor
