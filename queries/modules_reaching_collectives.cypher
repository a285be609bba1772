// name: modules_reaching_collectives
// title: Which nn.Module methods reach a collective by calls
// group: distributed
// param: commit commit  the commit to look at
// param: method string = forward  name of the method
// returns: method string, collective string, calls int, anchor string
// note: Four calls deep.
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(d:Function)
WITH collect(d.id) AS held
MATCH p = (f:Function {name: $method})-[:CALLS|DEFINED_BY*1..7]->(x:External)
WHERE f.kind = 'method' AND x.qname STARTS WITH 'torch.distributed.' AND all(n IN nodes(p) WHERE n.line IS NULL OR n.id IN held)
RETURN f.qname AS method, x.qname AS collective, min((length(p) + 1) / 2) AS calls, f.anchor AS anchor
ORDER BY method, calls, collective, anchor
