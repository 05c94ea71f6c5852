"""What is asked of plans: the value that meets a target, budgets, steps that remain, conversions."""
