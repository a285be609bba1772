// name: modules_reaching_collectives
// title: Which nn.Module methods reach a collective by calls
// group: distributed
// param: commit commit  the commit to look at
// param: method string = forward  name of the method
// returns: method string, collective string, calls int, anchor string
// note: Four calls deep; of several collectives the nearest.
MATCH (t:External)<-[:CALLS]-(f:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
WHERE t.qname STARTS WITH 'torch.distributed.'
WITH f, min('1 ' + t.qname) AS near
CALL (f, near) {
  WITH f, near WHERE near STARTS WITH '1'
  MATCH (f)<-[:DEFINED_BY]-(s:Symbol)<-[:CALLS]-(g:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  RETURN DISTINCT g, '2' + substring(near, 1) AS n
  UNION
  RETURN f AS g, near AS n
}
WITH g AS f, min(n) AS near
CALL (f, near) {
  WITH f, near WHERE near STARTS WITH '2'
  MATCH (f)<-[:DEFINED_BY]-(s:Symbol)<-[:CALLS]-(g:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  RETURN DISTINCT g, '3' + substring(near, 1) AS n
  UNION
  RETURN f AS g, near AS n
}
WITH g AS f, min(n) AS near
CALL (f, near) {
  WITH f, near WHERE near STARTS WITH '3'
  MATCH (f)<-[:DEFINED_BY]-(s:Symbol)<-[:CALLS]-(g:Function)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  RETURN DISTINCT g, '4' + substring(near, 1) AS n
  UNION
  RETURN f AS g, near AS n
}
WITH g AS f, min(n) AS near
WITH f, near WHERE f.kind = 'method' AND f.name = $method
RETURN f.qname AS method, substring(near, 2) AS collective, toInteger(left(near, 1)) AS calls, f.anchor AS anchor
ORDER BY method, calls, collective, anchor
