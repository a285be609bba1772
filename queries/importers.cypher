// name: importers
// title: Who imports a module or name
// group: structure
// param: commit commit  the commit to look at
// param: module string  qualified name of what is imported
// returns: path string, line int, alias string
MATCH (t:Symbol|External {qname: $module})<-[i:IMPORTS]-(f:File)<-[:HAS]-(:Commit {id: $commit})
RETURN f.path AS path, i.line AS line, i.alias AS alias
ORDER BY path, line, alias
