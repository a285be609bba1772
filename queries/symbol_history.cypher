// name: symbol_history
// title: The versions of a symbol over the commits in the store
// group: across-commits
// param: symbol string  qualified name
// returns: commit string, anchor string, lines int
MATCH (:Symbol {qname: $symbol})-[:DEFINED_BY]->(x)<-[:DEFINES]-(:File)<-[:HAS]-(c:Commit)
RETURN c.name AS commit, x.anchor AS anchor, x.end_line - x.line + 1 AS lines
ORDER BY coalesce(c.time, 0), anchor
