// name: jobs
// title: The jobs in the store, with how much of them there is
// group: job
// returns: job string, name string, job_type string, commit string, modules int, unresolved int, entrypoint string
MATCH (j:Job)-[:OF]->(c:Commit)
OPTIONAL MATCH (j)-[:HAS_ENTRY]->(m:ModuleEntry)
WITH j, c, count(m) AS modules
OPTIONAL MATCH (j)-[:HAS_ENTRY]->(u:UnresolvedEntry)
WITH j, c, modules, count(u) AS unresolved
RETURN j.id AS job, j.name AS name, j.job_type AS job_type, c.name AS commit, modules, unresolved, j.entrypoint AS entrypoint
ORDER BY c.repository, coalesce(c.time, 0), job
