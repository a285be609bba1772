// name: overridden_methods
// title: Methods that redefine one of a direct base class of the source
// group: structure
// param: commit commit  the commit to look at
// returns: method string, overrides string, anchor string
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(k:Class)-[:INHERITS]->(s:Symbol)-[:DEFINED_BY]->(b:Class)
MATCH (b)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
MATCH (k)-[:CONTAINS]->(m:Function), (b)-[:CONTAINS]->(o:Function)
WHERE m.name = o.name
RETURN m.qname AS method, o.qname AS overrides, m.anchor AS anchor
ORDER BY method, overrides, anchor
