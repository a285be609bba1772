// name: subclasses
// title: The classes that derive from a class of the source, however far down
// group: structure
// param: commit commit  the commit to look at
// param: class string  qualified name of the class
// returns: class string, levels int, anchor string
// note: Eight levels deep.
MATCH (b:Symbol {qname: $class})<-[:INHERITS]-(k:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
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
RETURN k.qname AS class, toInteger(left(path, 1)) AS levels, k.anchor AS anchor
ORDER BY levels, class, anchor
