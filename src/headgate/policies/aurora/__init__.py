"""Aurora's policies (Carney 2005): operators and tuples in batches, and orders that follow QoS graphs."""
