"""The page on which a plan is tried out: sliders, live certified curves, two plans beside each other.

It is served on this machine alone (``serve.py``), needs the extra ``explore``, and asks nothing of any other machine.
Its numbers are those of the library: the server computes, rounds them outward and writes them as text, and the page
shows what it gets.
"""
