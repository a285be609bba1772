// name: module_classes
// title: The nn.Module classes of the source, with the bases between them and nn.Module
// group: structure
// param: commit commit  the commit to look at
// param: base string = torch.nn.Module  the base to look for
// returns: class string, bases list, anchor string
// note: Eight levels deep; with several bases, the shortest way to the base.
MATCH (b:External {id: $base})<-[:INHERITS]-(k:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
WITH DISTINCT k, '1 ' + b.qname AS path
CALL (k, path) {
  WITH k, path WHERE path STARTS WITH '1'
  MATCH (k)<-[:DEFINED_BY]-(b:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  RETURN DISTINCT n, '2 ' + b.qname + ' > ' + substring(path, 2) AS p
  UNION
  RETURN k AS n, path AS p
}
WITH n AS k, min(p) AS path
CALL (k, path) {
  WITH k, path WHERE path STARTS WITH '2'
  MATCH (k)<-[:DEFINED_BY]-(b:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  RETURN DISTINCT n, '3 ' + b.qname + ' > ' + substring(path, 2) AS p
  UNION
  RETURN k AS n, path AS p
}
WITH n AS k, min(p) AS path
CALL (k, path) {
  WITH k, path WHERE path STARTS WITH '3'
  MATCH (k)<-[:DEFINED_BY]-(b:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  RETURN DISTINCT n, '4 ' + b.qname + ' > ' + substring(path, 2) AS p
  UNION
  RETURN k AS n, path AS p
}
WITH n AS k, min(p) AS path
CALL (k, path) {
  WITH k, path WHERE path STARTS WITH '4'
  MATCH (k)<-[:DEFINED_BY]-(b:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  RETURN DISTINCT n, '5 ' + b.qname + ' > ' + substring(path, 2) AS p
  UNION
  RETURN k AS n, path AS p
}
WITH n AS k, min(p) AS path
CALL (k, path) {
  WITH k, path WHERE path STARTS WITH '5'
  MATCH (k)<-[:DEFINED_BY]-(b:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  RETURN DISTINCT n, '6 ' + b.qname + ' > ' + substring(path, 2) AS p
  UNION
  RETURN k AS n, path AS p
}
WITH n AS k, min(p) AS path
CALL (k, path) {
  WITH k, path WHERE path STARTS WITH '6'
  MATCH (k)<-[:DEFINED_BY]-(b:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  RETURN DISTINCT n, '7 ' + b.qname + ' > ' + substring(path, 2) AS p
  UNION
  RETURN k AS n, path AS p
}
WITH n AS k, min(p) AS path
CALL (k, path) {
  WITH k, path WHERE path STARTS WITH '7'
  MATCH (k)<-[:DEFINED_BY]-(b:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
  RETURN DISTINCT n, '8 ' + b.qname + ' > ' + substring(path, 2) AS p
  UNION
  RETURN k AS n, path AS p
}
WITH n AS k, min(p) AS path
RETURN k.qname AS class, split(substring(path, 2), ' > ') AS bases, k.anchor AS anchor
ORDER BY class, anchor, bases
