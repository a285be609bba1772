// name: subclasses
// title: The classes that derive from a class of the source, however far down
// group: structure
// param: commit commit  the commit to look at
// param: class string  qualified name of the class
// returns: class string, levels int, anchor string
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(k:Class)
WITH collect(k.id) AS held
MATCH p = (:Symbol {qname: $class})<-[:INHERITS|DEFINED_BY*1..15]-(k:Class)
WHERE all(n IN nodes(p) WHERE n.line IS NULL OR n.id IN held)
RETURN k.qname AS class, min((length(p) + 1) / 2) AS levels, k.anchor AS anchor
ORDER BY levels, class, anchor
