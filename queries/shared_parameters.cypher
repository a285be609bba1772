// name: shared_parameters
// title: Modules that share their parameters (tied weights)
// group: job
// param: job job  the job to look at
// returns: path string, shares_with string, anchor string
MATCH (:Job {id: $job})-[:HAS_ENTRY]->(a:ModuleEntry)-[:SHARES]->(b:ModuleEntry)
RETURN a.module_path AS path, b.module_path AS shares_with, a.anchor AS anchor
ORDER BY path, shares_with
