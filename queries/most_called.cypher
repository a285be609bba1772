// name: most_called
// title: The functions and classes of the source with most call sites
// group: calls
// param: commit commit  the commit to look at
// param: count int = 20  how many
// returns: sites int, callers int, symbol string
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f)-[e:CALLS|CONSTRUCTS]->(s:Symbol)
RETURN count(e) AS sites, count(DISTINCT f) AS callers, s.qname AS symbol
ORDER BY sites DESC, symbol
LIMIT $count
