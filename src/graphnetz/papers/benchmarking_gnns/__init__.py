"""Benchmarking Graph Neural Networks (Dwivedi et al., JMLR 24(43), 2023)."""
