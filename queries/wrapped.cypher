// name: wrapped
// title: Modules inside a wrapper: DistributedDataParallel, fully_shard, torch.compile
// group: job
// param: job job  the job to look at
// returns: path string, wrapper string, anchor string
MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(m:ModuleEntry)
UNWIND m.wrapped_by AS wrapper
RETURN m.module_path AS path, wrapper, m.anchor AS anchor
ORDER BY h.order, wrapper
