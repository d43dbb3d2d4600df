from __future__ import annotations

from hypothesis import settings

settings.register_profile("storage", deadline=None)  # the disk may be busy
settings.load_profile("storage")
