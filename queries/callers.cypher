// name: callers
// title: Who calls a function or constructs a class
// group: calls
// param: commit commit  the commit to look at
// param: symbol string  qualified name, of the source or of a library
// returns: caller string, line int, text string, basis string, anchor string
MATCH (t:Symbol|External {qname: $symbol})<-[e:CALLS|CONSTRUCTS]-(f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
RETURN f.qname AS caller, e.line AS line, e.text AS text, e.basis AS basis, f.path + ':' + f.symbol + ':' + toString(e.line) AS anchor
ORDER BY caller, anchor, text
