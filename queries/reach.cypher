// name: reach
// title: Everything that a function can reach by calls, with the least number of calls to it
// group: calls
// param: commit commit  the commit to look at
// param: symbol string  qualified name of the function
// returns: calls int, reached string
// note: Six calls deep; the Python graph (`cgx.open(...).graph(["CALLS", "DEFINED_BY"])`) has no such bound.
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f:Function)
WITH collect(f.id) AS held
MATCH p = (a:Symbol {qname: $symbol})-[:CALLS|DEFINED_BY*2..12]->(b)
WHERE b.line IS NULL AND all(n IN nodes(p) WHERE n.line IS NULL OR n.id IN held)
RETURN min(length(p) / 2) AS calls, b.qname AS reached
ORDER BY calls, reached
