// name: collective_sites
// title: Call sites of collectives anywhere in the source, run or not
// group: distributed
// param: commit commit  the commit to look at
// returns: collective string, caller string, text string, anchor string
MATCH (x:External)<-[e:CALLS]-(f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
WHERE x.package = 'torch' AND (x.role = 'collective' OR x.qname STARTS WITH 'torch.distributed.') AND x.name IN [
  'all_reduce', 'all_reduce_coalesced', 'all_gather', 'all_gather_into_tensor', 'all_gather_object', 'all_gather_coalesced',
  'all_gather_tensor', 'reduce_scatter', 'reduce_scatter_tensor', 'broadcast', 'broadcast_object_list', 'all_to_all',
  'all_to_all_single', 'gather', 'gather_object', 'scatter', 'scatter_object_list', 'reduce', 'send', 'recv', 'isend', 'irecv',
  'batch_isend_irecv', 'barrier', 'monitored_barrier']
RETURN x.qname AS collective, f.qname AS caller, e.text AS text, f.path + ':' + f.symbol + ':' + toString(e.line) AS anchor
ORDER BY collective, anchor, text
