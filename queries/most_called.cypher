// name: most_called
// title: The functions and classes of the source with most call sites
// group: calls
// param: commit commit  the commit to look at
// param: count int = 20  how many
// returns: sites int, callers int, symbol string
CALL {
  MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f)-[e:CALLS|CONSTRUCTS]->(s:Symbol)
  RETURN s.qname AS symbol, count(e) AS sites
  ORDER BY sites DESC, symbol
  LIMIT $count
}
MATCH (t:Symbol {qname: symbol})<-[:CALLS|CONSTRUCTS]-(f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
RETURN sites, count(DISTINCT f) AS callers, symbol
ORDER BY sites DESC, symbol
