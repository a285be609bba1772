// name: sync_sites
// title: Call sites that make the host wait, anywhere in the source, run or not
// group: schedule
// param: commit commit  the commit to look at
// returns: callee string, caller string, text string, anchor string
MATCH (x:External)<-[e:CALLS]-(f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
WHERE x.role = 'sync' OR x.qname IN [
  'torch.Tensor.item', 'torch.Tensor.tolist', 'torch.Tensor.cpu', 'torch.Tensor.numpy', 'torch.Tensor.nonzero', 'torch.nonzero',
  'torch.cuda.synchronize', 'torch.cuda.Stream.synchronize', 'torch.cuda.Event.synchronize', 'torch.cuda.current_stream.synchronize',
  'torch.Tensor.__bool__', 'torch.equal', 'torch.allclose']
RETURN x.qname AS callee, f.qname AS caller, e.text AS text, f.path + ':' + f.symbol + ':' + toString(e.line) AS anchor
ORDER BY callee, anchor, text
