"""Response time, slowdown and fairness (Sharaf et al. 2006)."""
