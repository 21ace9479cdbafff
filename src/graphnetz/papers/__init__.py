"""One folder per published system: its models, tasks, protocol, published tables, and its suites."""
