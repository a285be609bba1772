// name: module_classes
// title: The nn.Module classes of the source, with the bases between them and nn.Module
// group: structure
// param: commit commit  the commit to look at
// param: base string = torch.nn.Module  the base to look for
// returns: class string, bases list, anchor string
// note: Eight levels deep; with several bases, the shortest way to the base.
CALL {
  MATCH (b:External {id: $base})<-[:INHERITS]-(k:Class)
  WITH DISTINCT k, b.qname AS path
  MATCH (k)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  RETURN k, '1 ' + path AS path
  UNION ALL
  MATCH (b:External {id: $base})<-[:INHERITS]-(k:Class)
  WITH DISTINCT k, b.qname AS path
  MATCH (k)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH k, path
  MATCH (k)<-[:DEFINED_BY]-(s:Symbol)<-[:INHERITS]-(n:Class)
  WITH n AS k, min(s.qname + ' > ' + path) AS path
  MATCH (k)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  RETURN k, '2 ' + path AS path
  UNION ALL
  MATCH (b:External {id: $base})<-[:INHERITS]-(k:Class)
  WITH DISTINCT k, b.qname AS path
  MATCH (k)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH k, path
  MATCH (k)<-[:DEFINED_BY]-(s:Symbol)<-[:INHERITS]-(n:Class)
  WITH n AS k, min(s.qname + ' > ' + path) AS path
  MATCH (k)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH k, path
  MATCH (k)<-[:DEFINED_BY]-(s:Symbol)<-[:INHERITS]-(n:Class)
  WITH n AS k, min(s.qname + ' > ' + path) AS path
  MATCH (k)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  RETURN k, '3 ' + path AS path
  UNION ALL
  MATCH (b:External {id: $base})<-[:INHERITS]-(k:Class)
  WITH DISTINCT k, b.qname AS path
  MATCH (k)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH k, path
  MATCH (k)<-[:DEFINED_BY]-(s:Symbol)<-[:INHERITS]-(n:Class)
  WITH n AS k, min(s.qname + ' > ' + path) AS path
  MATCH (k)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH k, path
  MATCH (k)<-[:DEFINED_BY]-(s:Symbol)<-[:INHERITS]-(n:Class)
  WITH n AS k, min(s.qname + ' > ' + path) AS path
  MATCH (k)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH k, path
  MATCH (k)<-[:DEFINED_BY]-(s:Symbol)<-[:INHERITS]-(n:Class)
  WITH n AS k, min(s.qname + ' > ' + path) AS path
  MATCH (k)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
  WITH k, '4 ' + path AS path
  CALL (k, path) {
    WITH k, path WHERE path STARTS WITH '4'
    MATCH (k)<-[:DEFINED_BY]-(s:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
    RETURN DISTINCT n, '5 ' + s.qname + ' > ' + substring(path, 2) AS p
    UNION
    RETURN k AS n, path AS p
  }
  WITH n AS k, min(p) AS path
  CALL (k, path) {
    WITH k, path WHERE path STARTS WITH '5'
    MATCH (k)<-[:DEFINED_BY]-(s:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
    RETURN DISTINCT n, '6 ' + s.qname + ' > ' + substring(path, 2) AS p
    UNION
    RETURN k AS n, path AS p
  }
  WITH n AS k, min(p) AS path
  CALL (k, path) {
    WITH k, path WHERE path STARTS WITH '6'
    MATCH (k)<-[:DEFINED_BY]-(s:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
    RETURN DISTINCT n, '7 ' + s.qname + ' > ' + substring(path, 2) AS p
    UNION
    RETURN k AS n, path AS p
  }
  WITH n AS k, min(p) AS path
  CALL (k, path) {
    WITH k, path WHERE path STARTS WITH '7'
    MATCH (k)<-[:DEFINED_BY]-(s:Symbol)<-[:INHERITS]-(n:Class)<-[:DEFINES]-(d:File)<-[:HAS]-(c:Commit {id: $commit})
    RETURN DISTINCT n, '8 ' + s.qname + ' > ' + substring(path, 2) AS p
    UNION
    RETURN k AS n, path AS p
  }
  WITH n AS k, min(p) AS path
  RETURN k, path
}
WITH k, min(path) AS path
RETURN k.qname AS class, split(substring(path, 2), ' > ') AS bases, k.anchor AS anchor
ORDER BY class, anchor, bases
