"""The commands of `headgate fresh`: plan, simulate and follow the refreshes of a mirror's copies."""
