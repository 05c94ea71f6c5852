"""Questions about plans: the value that meets a target, budgets, remaining steps."""
