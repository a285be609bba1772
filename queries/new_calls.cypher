// name: new_calls
// title: Calls to a library's names that only the later commit makes
// group: across-commits
// param: old commit = previous  the earlier commit
// param: new commit  the later commit
// param: prefix string = torch  start of the qualified name
// returns: callee string, caller string, anchor string
MATCH (:Commit {id: $old})-[:HAS]->(:File)-[:DEFINES]->(f)-[:CALLS|CONSTRUCTS]->(x:External)
WITH collect(DISTINCT f.qname + ' -> ' + x.qname) AS had
MATCH (:Commit {id: $new})-[:HAS]->(:File)-[:DEFINES]->(g)-[e:CALLS|CONSTRUCTS]->(y:External)
WHERE (y.qname = $prefix OR y.qname STARTS WITH $prefix + '.') AND NOT g.qname + ' -> ' + y.qname IN had
RETURN y.qname AS callee, g.qname AS caller, g.path + ':' + g.symbol + ':' + toString(e.line) AS anchor
ORDER BY callee, caller, anchor
