"""The gallery of a frontend design run: its pages as pictures, next to the report."""
