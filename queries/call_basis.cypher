// name: call_basis
// title: How sure the call graph is: call sites by basis and author
// group: calls
// param: commit commit  the commit to look at
// returns: basis string, author string, sites int
MATCH (:Commit {id: $commit})-[:HAS]->(d:File)
UNWIND d.answers AS answer
WITH split(answer, ' ') AS words
RETURN words[0] AS basis, words[1] AS author, sum(toInteger(words[2])) AS sites
ORDER BY sites DESC, basis, author
