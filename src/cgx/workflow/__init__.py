"""What the commands do: source in, graph in a store, records out. The one place above both stacks of imports."""
