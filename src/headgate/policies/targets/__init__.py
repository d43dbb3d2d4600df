"""Policies that know how soon results are wanted: the moment by which a run has to start decides."""
