"""Questions about plans: the parameter value that meets a target, budgets, remaining steps, and many plans at once."""
