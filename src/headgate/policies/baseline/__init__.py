"""Policies that know little: cycles, arrival order, chance, and the class alone."""
