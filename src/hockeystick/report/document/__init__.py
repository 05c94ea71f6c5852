"""Documents about a plan: the report that is filed, the paragraph that is quoted, and the check of what they state."""
