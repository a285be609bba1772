// name: class_bases
// title: Every class with its direct bases, in order
// group: structure
// param: commit commit  the commit to look at
// returns: class string, base string, position int, basis string, anchor string
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(k:Class)-[i:INHERITS]->(b)
RETURN k.qname AS class, b.qname AS base, i.order AS position, i.basis AS basis, k.anchor AS anchor
ORDER BY class, anchor, position, base
