"""Ground floor: errors, registries, seeding, optional imports, safe paths. Imports nothing above."""
