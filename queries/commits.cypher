// name: commits
// title: The commits in the store
// group: across-commits
// returns: name string, commit string, repository string, files int, sites int, complete bool
MATCH (c:Commit)
RETURN c.name AS name, c.id AS commit, c.repository AS repository, c.files AS files, c.sites AS sites, c.complete AS complete
ORDER BY repository, coalesce(c.time, 0), commit
