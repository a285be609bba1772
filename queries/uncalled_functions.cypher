// name: uncalled_functions
// title: Functions that nothing of the commit calls, constructs or refers to
// group: calls
// param: commit commit  the commit to look at
// returns: function string, lines int, anchor string
// note: Methods with underscores at both ends are left out; entry points and callbacks of libraries do appear.
MATCH (c:Commit {id: $commit})-[:HAS]->(d:File)-[:DEFINES]->(f:Function)<-[:DEFINED_BY]-(s:Symbol)
WHERE f.kind <> 'module' AND NOT f.name STARTS WITH '__'
  AND NOT EXISTS { MATCH (s)<-[:CALLS|CONSTRUCTS|REFERS]-(g)<-[:DEFINES]-(e:File)<-[:HAS]-(b:Commit {id: $commit}) }
RETURN f.qname AS function, f.end_line - f.line + 1 AS lines, f.anchor AS anchor
ORDER BY function, anchor
