// name: entry_points
// title: How the code can be started, likeliest first
// group: structure
// param: commit commit  the commit to look at
// returns: position int, kind string, command string, target string, why string, anchor string
MATCH (:Commit {id: $commit})-[o:OFFERS]->(e:EntryPoint)
OPTIONAL MATCH (e)-[:STARTS]->(s:Symbol)
RETURN o.rank AS position, e.kind AS kind, e.command AS command, s.qname AS target, e.why AS why, e.anchor AS anchor
ORDER BY position, command, target
