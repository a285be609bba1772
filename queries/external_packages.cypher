// name: external_packages
// title: The distributions that the source calls into, with how many call sites
// group: structure
// param: commit commit  the commit to look at
// returns: package string, sites int, names int
CALL {
  MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f)-[e:CALLS|CONSTRUCTS]->(x:External)
  RETURN x.package AS package, count(e) AS sites
}
MATCH (x:External {package: package})
WHERE EXISTS { MATCH (x)<-[:CALLS|CONSTRUCTS]-(f)<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit}) }
RETURN package, sites, count(x) AS names
ORDER BY sites DESC, package
