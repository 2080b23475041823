"""The time and the loss of clusters: methods against each other, as they grow, and for t-closeness."""
