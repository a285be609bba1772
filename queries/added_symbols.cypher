// name: added_symbols
// title: Functions and classes that only the later commit defines
// group: across-commits
// param: old commit = previous  the earlier commit
// param: new commit  the later commit
// returns: symbol string, label string, anchor string
MATCH (:Commit {id: $old})-[:HAS]->(:File)-[:DEFINES]->(x)
WITH collect(DISTINCT x.qname) AS had
MATCH (:Commit {id: $new})-[:HAS]->(:File)-[:DEFINES]->(y)
WHERE NOT y.qname IN had
RETURN y.qname AS symbol, labels(y)[0] AS label, y.anchor AS anchor
ORDER BY symbol, anchor
