// name: recursive_functions
// title: Functions that call themselves, directly or through one other
// group: calls
// param: commit commit  the commit to look at
// returns: function string, through string, anchor string
CALL {
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f:Function)<-[:DEFINED_BY]-(s:Symbol)
MATCH (f)-[:CALLS]->(t:Symbol)
WHERE t.id = s.id
RETURN f.qname AS function, f.qname AS through, f.anchor AS anchor
UNION
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f:Function)<-[:DEFINED_BY]-(s:Symbol)
MATCH (f)-[:CALLS]->(t:Symbol)-[:DEFINED_BY]->(g:Function)-[:CALLS]->(s)
MATCH (g)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
WHERE t.id <> s.id
RETURN f.qname AS function, g.qname AS through, f.anchor AS anchor
}
RETURN DISTINCT function, through, anchor
ORDER BY function, through, anchor
