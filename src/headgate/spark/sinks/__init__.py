"""Where committed results go, and how they are read: files, tables, callbacks, memory, followers."""
