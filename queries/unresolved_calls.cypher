// name: unresolved_calls
// title: Call sites without a target: their text and what is known of them
// group: calls
// param: commit commit  the commit to look at
// param: reason string = ""  only this reason
// returns: text string, prefix string, reason string, anchor string
MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f)-[e:UNRESOLVED_CALL]->(r:Reason)
WHERE $reason = '' OR r.name = $reason
RETURN e.text AS text, e.prefix AS prefix, r.name AS reason, f.path + ':' + f.symbol + ':' + toString(e.line) AS anchor
ORDER BY anchor, text
