from __future__ import annotations

from hypothesis import settings

settings.register_profile("policies", deadline=None)  # the machine may be busy with other tests
settings.load_profile("policies")
