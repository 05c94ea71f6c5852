"""Documents about a plan: the report to file, the paragraph to quote, and the verification of both."""
