// name: moved
// title: What moved between two commits, and how sure that is
// group: across-commits
// param: old commit = previous  the earlier commit
// param: new commit  the later commit
// returns: status string, before string, after string, evidence string
MATCH (a)-[m:MOVED_TO {old_commit: $old, new_commit: $new}]->(b)
RETURN m.status AS status, coalesce(a.anchor, a.path) AS before, coalesce(b.anchor, b.path) AS after, m.evidence AS evidence
ORDER BY before, after, status
