"""What was run on the data, as data, with its verbs: mechanisms, sampling, rounds, plans, plan files, profiles."""
