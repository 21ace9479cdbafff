"""From a plan to finished cells: planning, executors, the store, what a cell is named by and what it costs."""
