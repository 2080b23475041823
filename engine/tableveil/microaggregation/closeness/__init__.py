"""t-closeness through microaggregation (Soria-Comas et al. 2015): clusters that tell little of sensitive values."""
