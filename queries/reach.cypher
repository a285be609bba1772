// name: reach
// title: Everything that a function can reach by calls, with the least number of calls to it
// group: calls
// param: commit commit  the commit to look at
// param: symbol string  qualified name of the function
// returns: calls int, reached string
// note: Six calls deep; the Python graph (`cgx.open(...).graph(["CALLS", "DEFINED_BY"])`) has no such bound.
MATCH (s:Symbol {qname: $symbol})
WITH s, 0 AS calls
CALL (s, calls) {
  WITH s, calls WHERE calls = 0
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS]->(t)
  RETURN DISTINCT t, 1 AS n
  UNION
  RETURN s AS t, calls AS n
}
WITH t AS s, min(n) AS calls
CALL (s, calls) {
  WITH s, calls WHERE calls = 1
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS]->(t)
  RETURN DISTINCT t, 2 AS n
  UNION
  RETURN s AS t, calls AS n
}
WITH t AS s, min(n) AS calls
CALL (s, calls) {
  WITH s, calls WHERE calls = 2
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS]->(t)
  RETURN DISTINCT t, 3 AS n
  UNION
  RETURN s AS t, calls AS n
}
WITH t AS s, min(n) AS calls
CALL (s, calls) {
  WITH s, calls WHERE calls = 3
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS]->(t)
  RETURN DISTINCT t, 4 AS n
  UNION
  RETURN s AS t, calls AS n
}
WITH t AS s, min(n) AS calls
CALL (s, calls) {
  WITH s, calls WHERE calls = 4
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS]->(t)
  RETURN DISTINCT t, 5 AS n
  UNION
  RETURN s AS t, calls AS n
}
WITH t AS s, min(n) AS calls
CALL (s, calls) {
  WITH s, calls WHERE calls = 5
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS]->(t)
  RETURN DISTINCT t, 6 AS n
  UNION
  RETURN s AS t, calls AS n
}
WITH t AS s, min(n) AS calls
WITH s, calls WHERE calls > 0
RETURN calls, s.qname AS reached
ORDER BY calls, reached
