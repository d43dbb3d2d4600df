"""Policies that keep queues small (Pielech 2004, Pajjuri 2004, Babcock et al. 2003)."""
