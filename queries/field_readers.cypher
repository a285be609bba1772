// name: field_readers
// title: Who reads a configuration field or a module-level name
// group: calls
// param: commit commit  the commit to look at
// param: field string  qualified name: model.Config.n_layer
// returns: reader string, text string, anchor string
MATCH (:Symbol {qname: $field})<-[e:READS]-(f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
RETURN f.qname AS reader, e.text AS text, f.path + ':' + f.symbol + ':' + toString(e.line) AS anchor
ORDER BY reader, anchor, text
