"""A local web page with sliders for every parameter of a plan and live certified curves of two plans.

It is served on this machine alone (``serve.py``), needs the extra ``explore``, and contacts no other machine. The
server computes all numbers with the library, rounds them outward and formats them; the page only displays them.
"""
