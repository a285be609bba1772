// name: changed_files
// title: Files that differ between two commits
// group: across-commits
// param: old commit = previous  the earlier commit
// param: new commit  the later commit
// returns: path string, change string
CALL {
MATCH (o:Commit {id: $old}), (n:Commit {id: $new})-[:HAS]->(g:File)
WHERE NOT EXISTS { MATCH (o)-[:HAS]->(g) }
OPTIONAL MATCH (f:File {path: g.path})<-[:HAS]-(o)
RETURN g.path AS path, CASE WHEN f IS NULL THEN 'added' ELSE 'changed' END AS change
UNION
MATCH (n:Commit {id: $new}), (o:Commit {id: $old})-[:HAS]->(f:File)
WHERE NOT EXISTS { MATCH (n)-[:HAS]->(f) }
OPTIONAL MATCH (g:File {path: f.path})<-[:HAS]-(n)
WITH f, g WHERE g IS NULL
RETURN f.path AS path, 'removed' AS change
}
RETURN path, change
ORDER BY path, change
