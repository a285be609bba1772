// name: module_classes
// title: The nn.Module classes of the source, with the bases between them and nn.Module
// group: structure
// param: commit commit  the commit to look at
// param: base string = torch.nn.Module  the base to look for
// returns: class string, bases list, anchor string
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(k:Class)
WITH collect(k.id) AS held
MATCH p = (:External {id: $base})<-[:INHERITS|DEFINED_BY*1..16]-(k:Class)
WHERE all(n IN nodes(p) WHERE n.line IS NULL OR n.id IN held)
RETURN k.qname AS class, [n IN reverse(nodes(p)) WHERE n.line IS NULL | n.qname] AS bases, k.anchor AS anchor
ORDER BY class, anchor, bases
