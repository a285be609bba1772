// name: record_entries
// title: Every entry of a job's records, by section and in order
// group: job
// param: job string  id of the Job
// returns: section string, position int, item string, entry string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(e)
RETURN h.section AS section, h.order AS position, e.item AS item, e.entry_json AS entry
ORDER BY section, position
