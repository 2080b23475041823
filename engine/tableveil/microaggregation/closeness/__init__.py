"""t-closeness through microaggregation (Soria-Comas et al. 2015): clusters that reveal little of sensitive values."""
