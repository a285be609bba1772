// name: modules_reaching_collectives
// title: Which nn.Module methods reach a collective by calls
// group: distributed
// param: commit commit  the commit to look at
// param: method string = forward  name of the method
// returns: method string, collective string, calls int, anchor string
// note: Four calls deep; of several collectives the nearest.
CALL {
  MATCH (t:External)
  WHERE t.qname STARTS WITH 'torch.distributed.'
  MATCH (t)<-[:CALLS]-(f:Function)
  WITH f, min(t.qname) AS near
  MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH f, near
  WHERE f.kind = 'method' AND f.name = $method
  RETURN f, '1 ' + near AS near
  UNION ALL
  MATCH (t:External)
  WHERE t.qname STARTS WITH 'torch.distributed.'
  MATCH (t)<-[:CALLS]-(f:Function)
  WITH f, min(t.qname) AS near
  MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH f, near
  MATCH (f)<-[:DEFINED_BY]-(:Symbol)<-[:CALLS]-(g:Function)
  WHERE g.kind = 'method' AND g.name = $method
  WITH g AS f, min(near) AS near
  MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  RETURN f, '2 ' + near AS near
  UNION ALL
  MATCH (t:External)
  WHERE t.qname STARTS WITH 'torch.distributed.'
  MATCH (t)<-[:CALLS]-(f:Function)
  WITH f, min(t.qname) AS near
  MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH f, near
  MATCH (f)<-[:DEFINED_BY]-(:Symbol)<-[:CALLS]-(g:Function)
  WITH g AS f, min(near) AS near
  MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH f, near
  MATCH (f)<-[:DEFINED_BY]-(:Symbol)<-[:CALLS]-(g:Function)
  WHERE g.kind = 'method' AND g.name = $method
  WITH g AS f, min(near) AS near
  MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  RETURN f, '3 ' + near AS near
  UNION ALL
  MATCH (t:External)
  WHERE t.qname STARTS WITH 'torch.distributed.'
  MATCH (t)<-[:CALLS]-(f:Function)
  WITH f, min(t.qname) AS near
  MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH f, near
  MATCH (f)<-[:DEFINED_BY]-(:Symbol)<-[:CALLS]-(g:Function)
  WITH g AS f, min(near) AS near
  MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH f, near
  MATCH (f)<-[:DEFINED_BY]-(:Symbol)<-[:CALLS]-(g:Function)
  WITH g AS f, min(near) AS near
  MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH f, near
  MATCH (f)<-[:DEFINED_BY]-(:Symbol)<-[:CALLS]-(g:Function)
  WHERE g.kind = 'method' AND g.name = $method
  WITH g AS f, min(near) AS near
  MATCH (f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  RETURN f, '4 ' + near AS near
}
WITH f, min(near) AS near
RETURN f.qname AS method, substring(near, 2) AS collective, toInteger(left(near, 1)) AS calls, f.anchor AS anchor
ORDER BY method, calls, collective, anchor
