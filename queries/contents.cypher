// name: contents
// title: How many nodes of each kind the store holds
// group: health
// returns: label string, nodes int
MATCH (n)
RETURN labels(n)[0] AS label, count(n) AS nodes
ORDER BY label
