"""From SQL or operators to plans, the network of all queries, and the units that policies choose between."""
