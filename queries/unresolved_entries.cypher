// name: unresolved_entries
// title: What a job's records could not say, and what would settle it
// group: health
// param: job job  the job to look at
// returns: name string, field string, reason string, settle_with string, record string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(u:UnresolvedEntry)
RETURN u.name AS name, u.field AS field, u.reason AS reason, u.option + ' ' + u.option_name AS settle_with, u.record AS record, u.anchor AS anchor
ORDER BY record, h.order
