// name: first_call
// title: By which commit in the store a library's name was first called
// group: across-commits
// param: prefix string  start of the qualified name: torch.distributed
// returns: callee string, commit string, position int
MATCH (x:External)<-[:CALLS|CONSTRUCTS]-(f)<-[:DEFINES]-(:File)<-[:HAS]-(c:Commit)
WHERE x.qname = $prefix OR x.qname STARTS WITH $prefix + '.'
WITH x.qname AS callee, c.repository AS repository, min(c.order) AS position
MATCH (d:Commit {repository: repository, order: position})
RETURN callee, d.name AS commit, position
ORDER BY position, callee, commit
