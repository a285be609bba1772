// name: call_paths
// title: Call paths from one function to another, shortest first
// group: calls
// param: commit commit  the commit to look at
// param: from string  qualified name of the first function
// param: to string  qualified name of the last one, of the source or of a library
// param: count int = 20  how many paths
// returns: calls int, path list
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f:Function)
WITH collect(f.id) AS held
MATCH p = (a:Symbol {qname: $from})-[:CALLS|DEFINED_BY*1..12]->(b:Symbol|External {qname: $to})
WHERE all(n IN nodes(p) WHERE n.line IS NULL OR n.id IN held)
RETURN DISTINCT length(p) / 2 AS calls, [n IN nodes(p) WHERE n.line IS NULL | n.qname] AS path
ORDER BY calls, path
LIMIT $count
