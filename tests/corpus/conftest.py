from hypothesis import settings

# Machines under load are no reason to fail: correctness tests have no time limits.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
