"""Plain graphs: files and objects read one way, compressed rows, random graphs, structure counts."""
