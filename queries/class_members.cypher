// name: class_members
// title: The methods and nested classes of a class
// group: structure
// param: commit commit  the commit to look at
// param: class string  qualified name of the class
// returns: member string, parameters list, anchor string
MATCH (k:Class {qname: $class})<-[:DEFINES]-(:File)<-[:HAS]-(:Commit {id: $commit})
MATCH (k)-[:CONTAINS]->(m)
RETURN m.name AS member, m.parameters AS parameters, m.anchor AS anchor
ORDER BY m.line, member
