"""Where committed results go (files, tables, callbacks, memory, ...) and how they are read again.

A new sink is one new module in this folder, see `registry`.
"""
