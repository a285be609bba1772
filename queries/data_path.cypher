// name: data_path
// title: Every hop from storage to the device
// group: schedule
// param: job job  the job to look at
// returns: hop string, by string, workers int, asynchronous bool, blocks_step bool, anchor string
MATCH (:Job {id: $job})-[:HAS_ENTRY]->(d:Hop)
RETURN d.hop AS hop, d.by AS by, d.workers AS workers, d.asynchronous AS asynchronous, d.blocks_step AS blocks_step, d.anchor AS anchor
ORDER BY d.order
