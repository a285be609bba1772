// name: call_path
// title: The shortest call path from one function to another, or to a name of a library
// group: calls
// param: commit commit  the commit to look at
// param: from string  qualified name of the first function
// param: to string  qualified name of the last one
// returns: calls int, path list
// note: Six calls deep; of several paths of one length the first by name.
MATCH (s:Symbol {qname: $from})
WITH s, '0 ' + s.qname AS path
CALL (s, path) {
  WITH s, path WHERE path STARTS WITH '0' AND s.qname <> $to
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS|CONSTRUCTS]->(t)
  RETURN DISTINCT t, '1' + substring(path, 1) + ' > ' + t.qname AS p
  UNION
  RETURN s AS t, path AS p
}
WITH t AS s, min(p) AS path
CALL (s, path) {
  WITH s, path WHERE path STARTS WITH '1' AND s.qname <> $to
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS|CONSTRUCTS]->(t)
  RETURN DISTINCT t, '2' + substring(path, 1) + ' > ' + t.qname AS p
  UNION
  RETURN s AS t, path AS p
}
WITH t AS s, min(p) AS path
CALL (s, path) {
  WITH s, path WHERE path STARTS WITH '2' AND s.qname <> $to
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS|CONSTRUCTS]->(t)
  RETURN DISTINCT t, '3' + substring(path, 1) + ' > ' + t.qname AS p
  UNION
  RETURN s AS t, path AS p
}
WITH t AS s, min(p) AS path
CALL (s, path) {
  WITH s, path WHERE path STARTS WITH '3' AND s.qname <> $to
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS|CONSTRUCTS]->(t)
  RETURN DISTINCT t, '4' + substring(path, 1) + ' > ' + t.qname AS p
  UNION
  RETURN s AS t, path AS p
}
WITH t AS s, min(p) AS path
CALL (s, path) {
  WITH s, path WHERE path STARTS WITH '4' AND s.qname <> $to
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS|CONSTRUCTS]->(t)
  RETURN DISTINCT t, '5' + substring(path, 1) + ' > ' + t.qname AS p
  UNION
  RETURN s AS t, path AS p
}
WITH t AS s, min(p) AS path
CALL (s, path) {
  WITH s, path WHERE path STARTS WITH '5' AND s.qname <> $to
  MATCH (s)-[:DEFINED_BY]->(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  MATCH (f)-[:CALLS|CONSTRUCTS]->(t)
  RETURN DISTINCT t, '6' + substring(path, 1) + ' > ' + t.qname AS p
  UNION
  RETURN s AS t, path AS p
}
WITH t AS s, min(p) AS path
WITH s, path WHERE s.qname = $to
RETURN toInteger(left(path, 1)) AS calls, split(substring(path, 2), ' > ') AS path
ORDER BY calls, path
