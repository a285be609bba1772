// name: moved_most
// title: The functions and classes that moved most often over the commits in the store
// group: across-commits
// param: count int = 20  how many
// returns: moves int, symbol string
MATCH (a)-[m:MOVED_TO]->(b)
RETURN count(DISTINCT m.new_commit) AS moves, coalesce(a.qname, a.path) AS symbol
ORDER BY moves DESC, symbol
LIMIT $count
