"""What clusters cost and lose: methods against each other, as they grow, and for t-closeness."""
