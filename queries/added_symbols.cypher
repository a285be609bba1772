// name: added_symbols
// title: Functions and classes that only the later commit defines
// group: across-commits
// param: old commit = previous  the earlier commit
// param: new commit  the later commit
// returns: symbol string, label string, anchor string
MATCH (o:Commit {id: $old}), (n:Commit {id: $new})-[:HAS]->(f:File)
WHERE NOT EXISTS { MATCH (o)-[:HAS]->(f) }
MATCH (f)-[:DEFINES]->(y)<-[:DEFINED_BY]-(s:Symbol)
WHERE NOT EXISTS { MATCH (s)-[:DEFINED_BY]->(z)<-[:DEFINES]-(d:File)<-[:HAS]-(o) }
RETURN y.qname AS symbol, labels(y)[0] AS label, y.anchor AS anchor
ORDER BY symbol, anchor
