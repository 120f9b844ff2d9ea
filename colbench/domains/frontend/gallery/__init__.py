"""The gallery of a run of frontend design: pages as pictures, next to the report."""
