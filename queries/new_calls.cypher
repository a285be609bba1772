// name: new_calls
// title: Calls to a library's names that only the later commit makes
// group: across-commits
// param: old commit = previous  the earlier commit
// param: new commit  the later commit
// param: prefix string = torch  start of the qualified name
// returns: callee string, caller string, anchor string
MATCH (:Commit {id: $new})-[:HAS]->(f:File)
WHERE NOT EXISTS { MATCH (f)<-[:HAS]-(:Commit {id: $old}) }
MATCH (f)-[:DEFINES]->(g:Function)-[e:CALLS|CONSTRUCTS]->(y:External)
WHERE (y.qname = $prefix OR y.qname STARTS WITH $prefix + '.')
  AND NOT EXISTS { MATCH (y)<-[:CALLS|CONSTRUCTS]-(h:Function {qname: g.qname})<-[:DEFINES]-(d:File)<-[:HAS]-(o:Commit {id: $old}) }
RETURN y.qname AS callee, g.qname AS caller, g.path + ':' + g.symbol + ':' + toString(e.line) AS anchor
ORDER BY callee, caller, anchor
