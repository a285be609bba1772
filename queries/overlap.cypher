// name: overlap
// title: What is meant to run beside something else, and where it is joined
// group: schedule
// param: job job  the job to look at
// returns: what string, beside string, mechanism string, stream string, joined_at string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(o:Overlap)
RETURN o.what AS what, o.overlaps_with AS beside, o.mechanism AS mechanism, o.stream AS stream, o.joined_at AS joined_at, o.anchor AS anchor
ORDER BY h.order
