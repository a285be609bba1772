// name: appeared_in_step
// title: Syncs, copies and collectives that the later job has and the earlier has not
// group: across-commits
// param: old_job job = previous  the earlier job
// param: new_job job  the later job
// returns: section string, name string, symbol string, phase string, anchor string
MATCH (:Job {id: $old_job})-[h:HAS_ENTRY]->(o)
WHERE h.section IN ['copies', 'syncs', 'device_device']
WITH collect(h.section + ' ' + o.name + ' ' + coalesce(o.symbol, '')) AS had
MATCH (:Job {id: $new_job})-[k:HAS_ENTRY]->(n)
WHERE k.section IN ['copies', 'syncs', 'device_device'] AND NOT k.section + ' ' + n.name + ' ' + coalesce(n.symbol, '') IN had
RETURN k.section AS section, n.name AS name, n.symbol AS symbol, n.phase AS phase, n.anchor AS anchor
ORDER BY section, k.order
