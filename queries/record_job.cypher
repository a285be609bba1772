// name: record_job
// title: The header, symbols and compute keys of a job's records
// group: job
// param: job string  id of the Job
// returns: header string, symbols string, compute string
MATCH (j:Job {id: $job})
RETURN j.header_json AS header, j.symbols_json AS symbols, j.compute_json AS compute
ORDER BY header
