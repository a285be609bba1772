// name: new_calls
// title: Calls to a library's names that only the later commit makes
// group: across-commits
// param: old commit = previous  the earlier commit
// param: new commit  the later commit
// param: prefix string = torch  start of the qualified name
// returns: callee string, caller string, anchor string
MATCH (o:Commit {id: $old}), (n:Commit {id: $new})-[:HAS]->(f:File)
WHERE NOT EXISTS { MATCH (o)-[:HAS]->(f) }
MATCH (f)-[:DEFINES]->(g:Function)-[e:CALLS|CONSTRUCTS]->(y:External)
WHERE (y.qname = $prefix OR y.qname STARTS WITH $prefix + '.')
  AND NOT EXISTS { MATCH (o)-[:HAS]->(d:File)-[:DEFINES]->(h:Function {qname: g.qname})-[:CALLS|CONSTRUCTS]->(y) }
RETURN y.qname AS callee, g.qname AS caller, g.path + ':' + g.symbol + ':' + toString(e.line) AS anchor
ORDER BY callee, caller, anchor
