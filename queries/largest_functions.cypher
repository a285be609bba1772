// name: largest_functions
// title: The longest functions
// group: structure
// param: commit commit  the commit to look at
// param: count int = 20  how many
// returns: lines int, function string, anchor string
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f:Function)
WHERE f.kind <> 'module'
RETURN f.end_line - f.line + 1 AS lines, f.qname AS function, f.anchor AS anchor
ORDER BY lines DESC, function, anchor
LIMIT $count
