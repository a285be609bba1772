// name: files
// title: The files of a commit, with what they define
// group: structure
// param: commit commit  the commit to look at
// returns: path string, module string, lines int, classes int, functions int, parsed string
MATCH (:Commit {id: $commit})-[:HAS]->(f:File)
OPTIONAL MATCH (f)-[:DEFINES]->(k:Class)
WITH f, count(k) AS classes
OPTIONAL MATCH (f)-[:DEFINES]->(g:Function)
WHERE g.kind <> 'module'
RETURN f.path AS path, f.module AS module, f.lines AS lines, classes, count(g) AS functions, f.parsed AS parsed
ORDER BY path
