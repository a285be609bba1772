// name: changed_files
// title: Files that differ between two commits
// group: across-commits
// param: old commit = previous  the earlier commit
// param: new commit  the later commit
// returns: path string, change string
CALL {
MATCH (:Commit {id: $old})-[:HAS]->(f:File)
WITH collect(f.path) AS before, collect(f.id) AS had
MATCH (:Commit {id: $new})-[:HAS]->(g:File)
WHERE NOT g.id IN had
RETURN g.path AS path, CASE WHEN g.path IN before THEN 'changed' ELSE 'added' END AS change
UNION
MATCH (:Commit {id: $new})-[:HAS]->(g:File)
WITH collect(g.path) AS after
MATCH (:Commit {id: $old})-[:HAS]->(f:File)
WHERE NOT f.path IN after
RETURN f.path AS path, 'removed' AS change
}
RETURN path, change
ORDER BY path, change
