"""Choosing the policy while running (Pielech 2004)."""
