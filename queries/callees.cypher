// name: callees
// title: What a function calls, in order of line
// group: calls
// param: commit commit  the commit to look at
// param: symbol string  qualified name of the function
// returns: line int, text string, callee string, basis string
MATCH (f:Function {qname: $symbol})<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
MATCH (f)-[e:CALLS|CONSTRUCTS]->(t)
RETURN e.line AS line, e.text AS text, t.qname AS callee, e.basis AS basis
ORDER BY line, text, callee
