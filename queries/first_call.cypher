// name: first_call
// title: By which commit in the store a library's name was first called
// group: across-commits
// param: prefix string  start of the qualified name: torch.distributed
// returns: callee string, commit string, time int
// note: The earliest by the committer's time; commits without one (plain folders) count as the first.
MATCH (x:External)
WHERE x.qname = $prefix OR x.qname STARTS WITH $prefix + '.'
MATCH (x)<-[:CALLS|CONSTRUCTS]-(f)<-[:DEFINES]-(d:File)
WITH DISTINCT x, d
MATCH (d)<-[:HAS]-(c:Commit)
WITH x.qname AS callee, split(min(toString(coalesce(c.time, 0)) + ' ' + c.name), ' ') AS first
RETURN callee, first[1] AS commit, toInteger(first[0]) AS time
ORDER BY time, callee
