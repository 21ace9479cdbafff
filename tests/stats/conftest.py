from hypothesis import settings

# Shared machines stall for longer than any sensible deadline; speed is measured in benchmarks/.
settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
