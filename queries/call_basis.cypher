// name: call_basis
// title: How sure the call graph is: call sites by basis and author
// group: calls
// param: commit commit  the commit to look at
// returns: basis string, author string, sites int
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f)-[e:CALLS|CONSTRUCTS]->(t)
RETURN e.basis AS basis, e.author AS author, count(e) AS sites
ORDER BY sites DESC, basis, author
