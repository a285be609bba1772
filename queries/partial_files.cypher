// name: partial_files
// title: Files that were not read whole: syntax errors, huge files
// group: health
// param: commit commit  the commit to look at
// returns: path string, parsed string, error string
MATCH (:Commit {id: $commit})-[:HAS]->(f:File)
WHERE f.parsed <> 'whole'
RETURN f.path AS path, f.parsed AS parsed, f.error AS error
ORDER BY path
