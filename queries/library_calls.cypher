// name: library_calls
// title: Where names of a library are called
// group: calls
// param: commit commit  the commit to look at
// param: prefix string  start of the qualified name: torch.distributed
// returns: callee string, caller string, text string, anchor string
MATCH (x:External)<-[e:CALLS|CONSTRUCTS]-(f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
WHERE x.qname = $prefix OR x.qname STARTS WITH $prefix + '.'
RETURN x.qname AS callee, f.qname AS caller, e.text AS text, f.path + ':' + f.symbol + ':' + toString(e.line) AS anchor
ORDER BY callee, anchor, text
