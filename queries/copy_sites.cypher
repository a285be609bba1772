// name: copy_sites
// title: Call sites that may copy between host and device, anywhere in the source, run or not
// group: schedule
// param: commit commit  the commit to look at
// returns: callee string, caller string, text string, anchor string
MATCH (x:External)<-[e:CALLS]-(f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
WHERE x.role = 'copy' OR x.qname IN [
  'torch.Tensor.to', 'torch.Tensor.cuda', 'torch.Tensor.cpu', 'torch.Tensor.copy_', 'torch.Tensor.pin_memory', 'torch.nn.Module.to',
  'torch.nn.Module.cuda', 'torch.nn.Module.cpu']
RETURN x.qname AS callee, f.qname AS caller, e.text AS text, f.path + ':' + f.symbol + ':' + toString(e.line) AS anchor
ORDER BY callee, anchor, text
