// name: constructors
// title: Who constructs a class, and with which arguments
// group: calls
// param: commit commit  the commit to look at
// param: class string  qualified name, of the source or of a library
// returns: caller string, arguments list, bound_to string, anchor string
MATCH (t:Symbol|External {qname: $class})<-[e:CONSTRUCTS]-(f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
RETURN f.qname AS caller, e.arguments AS arguments, e.bound_to AS bound_to, f.path + ':' + f.symbol + ':' + toString(e.line) AS anchor
ORDER BY caller, anchor, bound_to
