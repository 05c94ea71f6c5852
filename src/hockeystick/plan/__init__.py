"""Mechanisms, sampling schemes, rounds, plans, plan files and profiles: the data that describe a program."""
